"""Keep fitted models in files that cannot run code: skops instead of pickle."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from skops.io.exceptions import UnsupportedTypeException

from labelweave._archives import check_sizes, damage_named
from labelweave._files import replacing
from labelweave.models import Structure

__all__ = ["load", "save"]

# skops reads these with scipy's load_npz, which runs no code, yet lists them as not trusted.
_SPARSE = {
    f"scipy.sparse._{form}.{form}_{kind}" for form in ("csr", "csc") for kind in ("array", "matrix")
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or a pipeline that ends in one, to a file.

    Parameters
    ----------
    model : estimator
        What to keep.
    path : str or path
        The file, by convention ``*.skops``. It is replaced if it exists, in one step: whenever the
        process or the machine stops, there is the old file or the new one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1, algorithm="brute").fit([[0], [1]], [[1, 0], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "neighbours.skops")
    ...     save(model, path)
    ...     load(path).predict([[1]])
    array([[0, 1]])
    """
    try:
        content = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    except (UnsupportedTypeException, TypeError) as error:
        raise ValueError(f"model cannot be kept in a file: {error}") from error
    with replacing(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model back.

    labelweave's types and those that skops holds harmless (scikit-learn's estimators, NumPy,
    SciPy) are trusted; a file that names any other type is refused before anything in it is
    constructed.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` wrote.
    trusted : iterable of str
        Types to trust as well, e.g. ``"sklearn.tree._tree.Tree"``: a decision tree is a table
        that compiled code follows unchecked, so a forged one could do harm.

    Returns
    -------
    estimator
        The fitted model.
    """
    with Path(path).open("rb") as file, damage_named(path):
        with zipfile.ZipFile(file) as archive:
            check_sizes(archive)
            _check_kinds(json.loads(archive.read("schema.json")))
        named = set(skops.io.get_untrusted_types(file=file))
        foreign = named - _SPARSE - set(trusted)
        refused = sorted(name for name in foreign if not _is_our_class(name))
        if not refused:
            model = skops.io.load(file, trusted=sorted(named))
            _require_numbers(model)
            return model
    raise ValueError(
        f"{os.fspath(path)} is refused: it holds types not known to be safe, "
        f"{', '.join(refused)}; if you know where the file comes from, name them as "
        "trusted (--trust on the command line, trusted= in Python)"
    )


def _check_kinds(node: Any) -> None:
    """Raise ValueError where a type that we vouch for is to be built in a way that is not its own.

    A type is trusted by its name. Some kinds of nodes do not build the type they name: they call a
    function or look up an attribute, and chains of these reach anything.
    """
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        _check_kinds(part)
    if isinstance(node, dict) and "__loader__" in node:
        name, kind = f"{node.get('__module__')}.{node.get('__class__')}", node["__loader__"]
        kinds = ("SparseMatrixNode",) if name in _SPARSE else ("ObjectNode", "TupleNode")
        if (name in _SPARSE or _is_our_class(name)) and kind not in kinds:
            raise ValueError(f"it has {name} as {kind}, which labelweave never writes")


def _is_our_class(name: str) -> bool:
    """Whether a dotted name is a class defined in labelweave, not just reachable through it.

    ``labelweave.some_module.os`` begins alike, but nothing that labelweave merely imports
    (a function, a module, another library's class) becomes trusted by that.
    """
    module_name, _, class_name = name.rpartition(".")
    if module_name.partition(".")[0] != "labelweave":
        return False
    try:
        found = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and found.__module__ == module_name


def _require_numbers(part: Any, ours: bool = False, seen: set[int] | None = None) -> None:
    """Raise ValueError where an array that a class of labelweave predicts from has NaN in it."""
    seen = set() if seen is None else seen
    if id(part) in seen or isinstance(part, Structure):
        return  # nothing is predicted from a structure's gains, NaN where none were measured
    seen.add(id(part))
    parts: Iterable[Any] = ()
    if isinstance(part, np.ndarray):
        if ours and part.dtype.kind == "f" and np.isnan(part).any():
            raise ValueError("there are weights that are no numbers")
    elif isinstance(part, dict):
        parts = part.values()
    elif isinstance(part, list | tuple):
        parts = part
    elif hasattr(part, "__dict__"):
        ours, parts = type(part).__module__.startswith("labelweave."), vars(part).values()
    for inner in parts:
        _require_numbers(inner, ours, seen)
