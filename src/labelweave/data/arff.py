"""Read ARFF files in the dialects of Mulan and Meka.

Mulan lists the label columns in an XML file next to the ARFF file; Meka counts them in the line
@relation. Rows of numbers and nominal values are parsed by the compiled reader, all others by
`arff_rows`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._core import native
from labelweave.data.arff_header import Attribute, Header, parse_header
from labelweave.data.arff_rows import needs_python, read_rows
from labelweave.data.columns import (
    LabelSpec,
    choose_labels,
    end_columns,
    named_columns,
    parse_numbers,
)
from labelweave.data.dataset import Dataset, Features, as_features
from labelweave.data.files import (
    FilePath,
    Limits,
    dataset_name,
    display_path,
    read_bytes,
    read_text,
)


def read_label_names(path: FilePath) -> list[str]:
    """Return the label names in a Mulan XML file; in a hierarchy, parents come first."""
    try:
        root = ElementTree.fromstring(read_bytes(path))
    except ElementTree.ParseError as error:
        line, column = error.position
        message = str(error).partition(":")[0]
        raise ValueError(f"{display_path(path)}:{line}:{column + 1}: not XML: {message}") from error
    names = [
        element.get("name") for element in root.iter() if element.tag.rpartition("}")[2] == "label"
    ]
    found = [name for name in names if name is not None]
    if not found or len(found) != len(names):
        raise ValueError(
            f'{display_path(path)}: expected elements <label name="…">, found {len(found)}'
        )
    return found


def find_label_file(path: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if there is one next to it.

    The longest name that is a prefix of the file's name wins: ``scene-train.arff.xz`` matches
    ``scene-train.xml``, or else ``scene.xml``.
    """
    path = Path(path)
    stem = dataset_name(path)
    candidates = [
        xml
        for xml in path.parent.glob("*.xml")
        if stem == xml.stem or (stem.startswith(xml.stem) and stem[len(xml.stem)] in "-_. ")
    ]
    return max(candidates, key=lambda xml: len(xml.stem), default=None)


# The numbers that the values of a nominal attribute stand for; None for other attributes.
Meaning: TypeAlias = "tuple[float, ...] | None"


def read_arff(
    path: FilePath | Sequence[FilePath],
    labels: LabelSpec | None = None,
    *,
    ignore: Sequence[str] = (),
    limits: Limits | None = None,
) -> Dataset:
    """Read a multi-label ARFF file, dense or sparse, plain or compressed (.gz, .xz, .bz2)."""
    limits = limits or Limits()
    if isinstance(path, (str, os.PathLike)):
        return _read_one(path, labels, ignore, limits)
    parts = [_read_one(part, labels, ignore, limits) for part in path]
    if not parts:
        raise ValueError("path is an empty list: pass at least one file")
    return _concatenate(parts)


def _read_one(
    path: FilePath, labels: LabelSpec | None, ignore: Sequence[str], limits: Limits
) -> Dataset:
    text, source = read_text(path, limits), display_path(path)
    header = parse_header(text, source)
    label_columns = _label_columns(path, header, labels, ignore, source)
    unused = {*label_columns, *(c for c, name in enumerate(header.names) if name in set(ignore))}
    feature_columns = [c for c in range(len(header.attributes)) if c not in unused]
    X, Y = _Rows(text, header, source, feature_columns, label_columns, limits).read()
    if not len(Y):
        raise ValueError(f"{source}: expected rows after the line @data, found none")
    names = header.names
    return Dataset(
        X,
        Y,
        tuple(names[c] for c in feature_columns),
        tuple(names[c] for c in label_columns),
        dataset_name(path),
    )


def _label_columns(
    path: FilePath, header: Header, labels: LabelSpec | None, ignore: Sequence[str], source: str
) -> list[int]:
    if labels is not None and not (isinstance(labels, str) and labels.lower().endswith(".xml")):
        return choose_labels(labels, header.names, source, ignore)
    label_file = labels if isinstance(labels, str) else find_label_file(path)
    if label_file is not None:
        known = read_label_names(label_file)
        return sorted(
            named_columns(known, header.names, f"{source} with {display_path(label_file)}")
        )
    count = header.meka_labels
    if count is None:
        raise ValueError(
            f"{source}: cannot tell which columns are labels: put Mulan's {dataset_name(path)}.xml "
            "next to it, or pass labels='last:6' (or 'first:6', or their names)"
        )
    return end_columns("first" if count > 0 else "last", abs(count), header.names, source)


@dataclass(frozen=True)
class _Rows:
    """The unparsed rows of a file, and which of its columns to read."""

    text: bytes
    header: Header
    source: str
    feature_columns: list[int]
    label_columns: list[int]
    limits: Limits

    def read(self) -> tuple[Features, NDArray[Any]]:
        n_lines = self.text.count(b"\n", self.header.offset) + 1
        self.limits.check_matrix(n_lines, len(self.label_columns), "rows × labels", self.source)
        is_label = set(self.label_columns)
        meanings = [
            _meaning(attribute, column in is_label, self.source)
            for column, attribute in enumerate(self.header.attributes)
        ]
        if not needs_python(self.text, self.header):
            return self._by_native(meanings)
        self.limits.check_matrix(
            n_lines, len(self.header.attributes), "rows × columns", self.source
        )
        return self._by_python(meanings)

    def _by_native(self, meanings: list[Meaning]) -> tuple[Features, NDArray[Any]]:
        """Read rows of numbers and nominal values with the compiled reader."""
        attributes, n_labels = self.header.attributes, len(self.label_columns)
        # The reader only distinguishes features from labels: ignored columns follow the features.
        unwanted = set(range(len(attributes))).difference(self.feature_columns, self.label_columns)
        target = np.empty(len(attributes), dtype=np.int64)
        target[[*self.feature_columns, *unwanted]] = np.arange(len(attributes) - n_labels)
        target[self.label_columns] = -1 - np.arange(n_labels)
        domains = {a.values: m for a, m in zip(attributes, meanings, strict=True) if a.values and m}
        position = {values: i for i, values in enumerate(domains)}
        is_sparse, n_rows, data, columns, row_starts, labels = native.parse_arff_rows(
            text=self.text,
            offset=self.header.offset,
            line=self.header.line,
            source=self.source,
            names=self.header.names,
            target=target.tolist(),
            domain=[-1 if a.values is None else position[a.values] for a in attributes],
            domains=list(domains.items()),
        )
        shape = (n_rows, len(attributes) - n_labels)
        X: Any = (
            sparse.csr_array((data, columns, row_starts), shape=shape)
            if is_sparse
            else data.reshape(shape)
        )
        X = X[:, : len(self.feature_columns)] if unwanted else X
        return self._features(X, {}), labels.reshape(n_rows, n_labels)

    def _by_python(self, meanings: list[Meaning]) -> tuple[Features, NDArray[Any]]:
        """Read rows that also hold text, dates or missing values."""
        rows = read_rows(self.text, self.header, meanings, self.label_columns, self.source)
        X: Any = np.ascontiguousarray(rows.values[:, self.feature_columns])
        X = sparse.csr_array(X) if rows.is_sparse and not np.isnan(X).any() else X
        return self._features(X, rows.levels), rows.values[:, self.label_columns]

    def _features(self, X: Any, levels: dict[int, tuple[str, ...]]) -> Features:
        """Return X unchanged if it is complete and numeric, otherwise as a data frame."""
        names = [self.header.names[c] for c in self.feature_columns]
        levels = levels | {
            c: attribute.values
            for c, attribute in enumerate(self.header.attributes)
            if attribute.values is not None and _is_coded(attribute)
        }
        nominal = [(k, c) for k, c in enumerate(self.feature_columns) if c in levels]
        if not nominal and (sparse.issparse(X) or not np.isnan(X).any()):
            return X  # type: ignore[no-any-return]
        import pandas as pd

        self.limits.check_matrix(X.shape[0], X.shape[1], "rows × features", self.source)
        frame = pd.DataFrame(_dense(X), columns=names)
        for k, c in nominal:
            codes = frame[names[k]].fillna(-1).astype(np.int64)
            frame[names[k]] = pd.Categorical.from_codes(codes, pd.Index(levels[c]))
        return frame


def _is_coded(attribute: Attribute) -> bool:
    """Whether a nominal attribute stays categorical: more than two values, or not numeric."""
    values = attribute.values or ()
    numbers = parse_numbers(values)
    return len(values) > 2 or numbers is None or not np.isfinite(numbers).all()


def _meaning(attribute: Attribute, is_label: bool, source: str) -> Meaning:
    """Return the numbers that the values of a nominal attribute stand for or are coded by."""
    values = attribute.values
    if values is None:
        return None
    if not is_label:
        coded = _is_coded(attribute)
        return (
            tuple(map(float, range(len(values)))) if coded else tuple(parse_numbers(values) or ())
        )
    numbers = parse_numbers(values)
    if numbers is None or not {0.0, 1.0}.issuperset(numbers):
        choices = "{" + ",".join(values)[:60] + "}"
        raise ValueError(
            f"{source}:{attribute.line}:1: expected the values {{0,1}} for label "
            f"{attribute.name!r}, found {choices}"
        )
    return tuple(numbers)


def _concatenate(parts: list[Dataset]) -> Dataset:
    first = parts[0]
    for part in parts[1:]:
        if part.feature_names != first.feature_names or part.label_names != first.label_names:
            raise ValueError(
                f"{part.name!r} does not have the columns of {first.name!r}: only files with the "
                "same attributes can be concatenated"
            )
    return Dataset(
        _stacked(parts),
        np.vstack([part.Y for part in parts]),
        first.feature_names,
        first.label_names,
        "+".join(part.name for part in parts),
    )


def _stacked(parts: list[Dataset]) -> Features:
    import pandas as pd

    blocks: list[Any] = [part.X for part in parts]
    if any(part.is_mixed for part in parts):
        names = list(parts[0].feature_names)
        frames = [pd.DataFrame(_dense(block), columns=names) for block in blocks]
        nominal = {name for part in parts for name in part.nominal_features}
        # The parts may differ in their categories: convert to text and parse again.
        joined = pd.concat([f.astype(dict.fromkeys(nominal, object)) for f in frames])
        return as_features(joined, nominal=nominal)
    if any(part.is_sparse for part in parts):
        return as_features(sparse.vstack([sparse.csr_array(b) for b in blocks], format="csr"))
    return np.vstack(blocks)


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X
