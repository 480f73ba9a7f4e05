"""Read Mulan and Meka ARFF files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import sparse

from labelweave._core import native
from labelweave.datasets.arff_header import Attribute, Header, parse_header
from labelweave.datasets.dataset import Dataset, Features, as_features
from labelweave.datasets.files import FilePath, data_name, read_text, shown
from labelweave.datasets.label_columns import (
    LabelSpec,
    choose_labels,
    end_columns,
    named_columns,
)
from labelweave.datasets.mulan import find_label_file, read_label_names

# Two-valued words that have an obvious number.
_WORDS = {
    "false": 0.0,
    "true": 1.0,
    "no": 0.0,
    "yes": 1.0,
    "f": 0.0,
    "t": 1.0,
    "n": 0.0,
    "y": 1.0,
}


def read_arff(path: FilePath | Sequence[FilePath], labels: LabelSpec | None = None) -> Dataset:
    """Read a multi-label ARFF file, dense or sparse, plain or compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path or sequence of paths
        One file, or several of the same columns whose rows follow each other (a training and a
        test file).
    labels : str or sequence of str, optional
        The label columns: ``"first:6"``, ``"last:14"``, names as ``"a,b,c"`` or as a list, or the
        path of a Mulan ``.xml`` file. If left out, the ``.xml`` file beside the ARFF file tells
        (Mulan), else ``-C k`` in its ``@relation`` line (Meka); the former wins, as the latter is
        known to be wrong in published files. An XML file says which columns are labels, not their
        order: they come in the order of the ARFF file.

    Returns
    -------
    Dataset
        With a sparse ``X`` if the file is sparse. Nominal attributes become numbers when their
        values are numbers or two words such as ``{no,yes}``.

    Raises
    ------
    ValueError
        Where the file is not as expected: with file, line, column, what was expected and found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.arff")
    >>> _ = path.write_text('''@relation 'toy: -C 2'
    ... @attribute sun {0,1}
    ... @attribute rain {0,1}
    ... @attribute clouds numeric
    ... @data
    ... 1,0,0.25
    ... 0,1,0.75
    ... ''')
    >>> data = read_arff(path)
    >>> data.label_names, data.X.ravel(), data.Y.tolist()
    (('sun', 'rain'), array([0.25, 0.75]), [[1, 0], [0, 1]])
    >>> folder.cleanup()
    """
    if isinstance(path, (str, os.PathLike)):
        return _read_one(path, labels)
    parts = [_read_one(part, labels) for part in path]
    if not parts:
        raise ValueError("path is an empty list: name at least one file")
    return _concatenate(parts)


def _read_one(path: FilePath, labels: LabelSpec | None) -> Dataset:
    text, source = read_text(path), shown(path)
    header = parse_header(text, source)
    label_columns = _label_columns(path, header, labels, source)
    feature_columns = sorted(set(range(len(header.attributes))).difference(label_columns))
    X, Y = _parse_rows(text, header, feature_columns, label_columns, source)
    names = header.names
    return Dataset(
        X,
        Y,
        tuple(names[c] for c in feature_columns),
        tuple(names[c] for c in label_columns),
        data_name(path),
    )


def _label_columns(
    path: FilePath, header: Header, labels: LabelSpec | None, source: str
) -> list[int]:
    if isinstance(labels, str) and not labels.lower().endswith(".xml"):
        return choose_labels(labels, header.names, source)
    if labels is not None and not isinstance(labels, str):
        return named_columns(list(labels), header.names, source)
    label_file = labels if labels is not None else find_label_file(path)
    if label_file is not None:
        known = read_label_names(label_file)
        return sorted(named_columns(known, header.names, f"{source} with {shown(label_file)}"))
    count = header.meka_labels
    if count is None:
        raise ValueError(
            f"{source}: cannot tell which columns are labels: put Mulan's {data_name(path)}.xml "
            "beside it, or pass labels='last:6' (or 'first:6', or their names)"
        )
    return end_columns("first" if count > 0 else "last", abs(count), header.names, source)


def _parse_rows(
    text: bytes, header: Header, feature_columns: list[int], label_columns: list[int], source: str
) -> tuple[Features, np.ndarray]:
    target = np.empty(len(header.attributes), dtype=np.int64)
    target[feature_columns] = np.arange(len(feature_columns))
    target[label_columns] = -1 - np.arange(len(label_columns))
    numbers: dict[tuple[str, ...], tuple[float, ...]] = {}
    for column, attribute in enumerate(header.attributes):
        if attribute.values is not None:
            meaning = _numbers_of(attribute, bool(target[column] < 0), source)
            numbers.setdefault(attribute.values, meaning)
    position = {values: i for i, values in enumerate(numbers)}
    is_sparse, n_rows, data, columns, row_starts, labels = native.parse_arff_rows(
        text=text,
        offset=header.offset,
        line=header.line,
        source=source,
        names=header.names,
        target=target.tolist(),
        domain=[-1 if a.values is None else position[a.values] for a in header.attributes],
        domains=list(numbers.items()),
    )
    if n_rows == 0:
        raise ValueError(f"{source}: expected rows after the line @data, found none")
    shape = (n_rows, len(feature_columns))
    X = (
        sparse.csr_array((data, columns, row_starts), shape=shape)
        if is_sparse
        else data.reshape(shape)
    )
    return X, labels.reshape(n_rows, len(label_columns))


def _numbers_of(attribute: Attribute, is_label: bool, source: str) -> tuple[float, ...]:
    """Return what the values of a nominal attribute stand for."""
    values = cast("tuple[str, ...]", attribute.values)
    numbers = [_number(value) for value in values]
    words = [_WORDS.get(value.lower()) for value in values]
    meaning = numbers if None not in numbers else words
    known = [number for number in meaning if number is not None]
    place = f"{source}:{attribute.line}:1: "
    choices = "{" + ",".join(values)[:60] + "}"
    if is_label and (len(known) < len(values) or not {0.0, 1.0}.issuperset(known)):
        raise ValueError(
            f"{place}expected the values {{0,1}} for label {attribute.name!r}, found {choices}"
        )
    if len(known) < len(values):
        raise ValueError(
            f"{place}expected numbers, or two words such as {{no,yes}}, as values of the nominal "
            f"attribute {attribute.name!r}, found {choices}: encode it as numbers first "
            "(one 0/1 attribute a value)"
        )
    return tuple(known)


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _concatenate(parts: list[Dataset]) -> Dataset:
    first = parts[0]
    for part in parts[1:]:
        if part.feature_names != first.feature_names or part.label_names != first.label_names:
            raise ValueError(
                f"{part.name!r} does not have the columns of {first.name!r}: only files of the "
                "same attributes can follow each other"
            )
    blocks: list[Any] = [part.X for part in parts]
    X: Any
    if any(part.is_sparse for part in parts):
        X = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    else:
        X = np.vstack(blocks)
    return Dataset(
        as_features(X),
        np.vstack([part.Y for part in parts]),
        first.feature_names,
        first.label_names,
        "+".join(part.name for part in parts),
    )
