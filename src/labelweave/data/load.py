"""Load a data set, by its name in the catalogue or from a file of any supported format."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from labelweave._common.arrays import Indices
from labelweave.data.arff import read_arff
from labelweave.data.catalogue import (
    ENTRIES,
    CatalogueEntry,
    data_folder,
    find_entry,
    is_in_catalogue,
    local_files,
)
from labelweave.data.columns import LabelSpec, split_names
from labelweave.data.dataset import Dataset
from labelweave.data.download import cached, download, load_from_cache
from labelweave.data.files import FilePath, Limits, display_path, uncompressed_name
from labelweave.data.mapped import HEADER, read_mapped, write_mapped
from labelweave.data.row_text import read_svmlight, read_xmc
from labelweave.data.tables import read_labelled_table

_TOP = re.compile(r"top:(\d{1,9})")


def load(
    source: FilePath,
    labels: LabelSpec | None = None,
    *,
    ignore: str | Sequence[str] = (),
    nominal: str | Sequence[str] = (),
    header: bool | None = None,
    zero_based: bool | None = None,
    max_memory: int | str | None = None,
    max_features: int | None = None,
    max_labels: int | None = None,
) -> Dataset:
    """Load a data set, by its name in the catalogue or from a file.

    Parameters
    ----------
    source : str or path
        A name such as ``"emotions"`` (see `list_datasets`), or a file. The file's extension
        determines its format: ``.arff``; ``.xmc`` or ``.txt`` (XMC text); ``.svm``, ``.svmlight``
        or ``.libsvm``; ``.csv`` or ``.tsv``; ``.parquet`` or ``.pq``. All of them may be compressed
        (.gz, .xz, .bz2). A folder is a data set that `write_mapped` has written; it is opened, not
        read into memory.
    labels : str or sequence of str, optional
        The label columns of a file: ``"first:6"``, ``"last:14"``, or their names as ``"a,b,c"``
        (a name that contains a comma is enclosed in double quotes) or as a list. Required for CSV
        and Parquet files. An ARFF file needs none if Mulan's XML file lies next to it or its
        relation names Meka's ``-C``; another XML file can be named here. The other formats mark
        their labels themselves. ``"top:10"`` keeps the ten most common labels of a named data set
        or of a file that marks its labels.
    ignore : str or sequence of str
        Columns to drop, such as an identifier: their names as ``"a,b"`` or as a list.
    nominal : str or sequence of str
        Columns of a CSV or Parquet file whose numbers are codes and are read as categories.
    header : bool, optional
        Whether the first line of a CSV file contains the column names. By default it does, and a
        line of numbers is an error; without names, columns are called 1, 2, 3, ….
    zero_based : bool, optional
        Whether the feature indices of an svmlight file start at 0; by default they do if there is
        a feature 0. Ignored for other sources.
    max_memory : int or str, default="2GB"
        Largest size of a decompressed file and of any matrix built from it, in bytes or as text.
    max_features, max_labels : int, default=2^24, 2^17
        Largest numbers of features and of labels that a short svmlight or XMC file may declare. A
        file that is long enough to name more may have more.

    Notes
    -----
    A named data set is searched for in the folder ``LABELWEAVE_DATA``, among the bundled data sets
    and in the cache (``LABELWEAVE_CACHE`` or the user's cache folder); if it is in none of them, it
    is downloaded from OpenML.

    Examples
    --------
    >>> load("emotions").n_labels
    6
    """
    limits = Limits.of(max_memory, max_features, max_labels)
    options = _Options(labels, _names(ignore), _names(nominal), header, zero_based, limits)
    top = _TOP.fullmatch(labels.strip()) if isinstance(labels, str) else None
    if top is None:
        return _load(source, options)
    data = _load(source, replace(options, labels=None))
    if int(top[1]) > data.n_labels:
        raise ValueError(f"labels='{top[0]}': {data.name!r} has only {data.n_labels} labels")
    return data.with_most_common_labels(int(top[1]))


def list_datasets() -> tuple[CatalogueEntry, ...]:
    """List the named data sets, and where each of them is on this machine.

    Examples
    --------
    >>> [(entry.name, entry.n_rows, entry.n_labels) for entry in list_datasets()][:2]
    [('emotions', 593, 6), ('scene', 2407, 6)]
    """
    return tuple(replace(entry, found_in=_place(entry)) for entry in ENTRIES)


@dataclass(frozen=True)
class _Options:
    """The arguments of `load` other than the source, with names as lists."""

    labels: LabelSpec | None
    ignore: list[str]
    nominal: list[str]
    header: bool | None
    zero_based: bool | None
    limits: Limits


def _names(given: str | Sequence[str]) -> list[str]:
    return split_names(given) if isinstance(given, str) else list(given)


def _load(source: FilePath, options: _Options) -> Dataset:
    if not is_in_catalogue(os.fspath(source)):
        if Path(source).is_dir():
            _refuse_labels(source, options, "this folder")
            return read_mapped(source, limits=options.limits).without(options.ignore)
        if _ending(source) in _ENDINGS:
            return _read_file(source, options)
        if Path(source).exists():
            raise ValueError(
                f"cannot tell the format of {display_path(source)!r} from its extension; "
                f"known extensions: {', '.join(_ENDINGS)}, optionally followed by .gz, .xz or .bz2"
            )
    entry = find_entry(os.fspath(source))
    if options.labels is not None:
        raise ValueError(
            f"labels applies to files only: the labels of {entry.name!r} are known "
            "('top:10' keeps the ten most common ones)"
        )
    return _load_named(entry).without(options.ignore)


def is_row_text(source: FilePath) -> bool:
    """Whether a source is a file of svmlight or XMC text, which can be read a row at a time."""
    if is_in_catalogue(os.fspath(source)) or Path(source).is_dir():
        return False
    return _ending(source) in _ROW_TEXT


def refuse_other_formats(source: FilePath) -> None:
    """Raise ValueError for a folder, or a file whose name says that it is no row text."""
    is_folder, ending = Path(source).is_dir(), _ending(source)
    if is_folder or (ending in _ENDINGS and ending not in _ROW_TEXT):
        kind = "a folder" if is_folder else f"a {ending} file"
        raise ValueError(f"{display_path(source)}: expected svmlight or XMC text, not {kind}")


def is_table(source: FilePath) -> bool:
    """Whether a source is a file of CSV or Parquet, plain or compressed."""
    return _ending(source) in _TABLES


def _read_file(path: FilePath, options: _Options) -> Dataset:
    ending, source = _ending(path), display_path(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {source!r}")
    given: dict[str, Any] = {"ignore": options.ignore, "limits": options.limits}
    if ending in _TABLES:
        if options.labels is None:
            raise ValueError(
                f"{source}: specify which columns are labels: labels='last:6' (or 'first:6', or "
                "their names)"
            )
        given |= {"nominal": options.nominal, "header": options.header}
        return read_labelled_table(path, options.labels, **given)
    if ending == ".arff":
        _refuse_nominal(path, options)
        return read_arff(path, options.labels, **given)
    _refuse_labels(path, options, "this format")
    if ending in _XMC:
        data = read_xmc(path, limits=options.limits)
    else:
        data = read_svmlight(path, zero_based=options.zero_based, limits=options.limits)
    return data.without(options.ignore)


def _refuse_nominal(path: FilePath, options: _Options) -> None:
    if options.nominal:
        raise ValueError(f"{display_path(path)}: nominal applies to CSV and Parquet files only")


def _refuse_labels(path: FilePath, options: _Options, kind: str) -> None:
    """Raise an error for options of tables, because this kind of source marks its labels."""
    _refuse_nominal(path, options)
    if options.labels is not None:
        raise ValueError(f"{display_path(path)}: labels does not apply: {kind} marks its labels")


_XMC = (".txt", ".xmc")
_ROW_TEXT = (*_XMC, ".svm", ".svmlight", ".libsvm")
_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_ENDINGS = (".arff", *_ROW_TEXT, *_TABLES)


def _ending(source: FilePath) -> str:
    return Path(uncompressed_name(source)).suffix.lower()


# The data sets that ship with the package, and their label columns; bundled/README.md names their
# sources.
_BUNDLED = {
    "emotions": ("scikit-multiflow-0.4.1_music.csv.gz", "first:6"),
    "yeast": ("river-0.26.1_yeast.csv.gz", "last:14"),
}


def _place(entry: CatalogueEntry) -> str | None:
    if local_files(entry) is not None:
        return "LABELWEAVE_DATA"
    if entry.name in _BUNDLED:
        return "bundled"
    return "cache" if (cached(entry.name) / HEADER).is_file() else None


def _load_named(entry: CatalogueEntry) -> Dataset:
    place = _place(entry)
    if place == "LABELWEAVE_DATA":
        data = _read_local(entry)
    elif place == "bundled":
        data = _read_bundled(entry)
    elif place == "cache":
        data = load_from_cache(entry.name)
    else:
        data = _download(entry)
        try:
            write_mapped(data, cached(entry.name))
        except OSError as error:
            warnings.warn(f"{entry.name!r} could not be saved to the cache: {error}", stacklevel=3)
    return data


def _read_bundled(entry: CatalogueEntry) -> Dataset:
    file, labels = _BUNDLED[entry.name]
    with resources.as_file(resources.files("labelweave.data") / "bundled" / file) as path:
        data = read_labelled_table(path, labels)
    # The file misspells a label of emotions.
    names = tuple(name.replace("relaxing-clam", "relaxing-calm") for name in data.label_names)
    return replace(data, name=entry.name, label_names=names, train_rows=_train_rows(entry))


def _train_rows(entry: CatalogueEntry) -> Indices | None:
    return None if entry.train_rows is None else np.arange(*entry.train_rows)


def _read_local(entry: CatalogueEntry) -> Dataset:
    files = local_files(entry) or []
    data = read_xmc(files[0]) if entry.files[0].endswith(".xmc.txt") else read_arff(files)
    found = (data.n_rows, data.n_features, data.n_labels)
    expected = (entry.n_rows, entry.n_features, entry.n_labels)
    if found != expected:
        raise ValueError(
            f"{display_path(files[0])} is not the expected {entry.name!r}: it has {found} rows, "
            f"features and labels instead of {expected}"
        )
    return replace(data, name=entry.name, train_rows=_train_rows(entry))


def _download(entry: CatalogueEntry) -> Dataset:
    advice = f"The data set {entry.name!r} is not on this machine"
    if entry.openml_id is None:
        raise FileNotFoundError(f"{advice} and cannot be downloaded. {_instructions(entry)}")
    try:
        return download(entry)
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"{advice} and could not be downloaded from OpenML ({error}). {_instructions(entry)}"
        ) from error


def _instructions(entry: CatalogueEntry) -> str:
    folder = data_folder()
    files = [*entry.files, *([entry.label_file] if entry.label_file else [])]
    where = (
        f"the folder {display_path(folder)} (LABELWEAVE_DATA)"
        if folder is not None
        else "a folder and set the environment variable LABELWEAVE_DATA to it"
    )
    return (
        f"To use it offline, put {', '.join(files)} (source: {entry.origin}; data files may be "
        f"compressed: .xz, .gz, .bz2) into {where}."
    )
