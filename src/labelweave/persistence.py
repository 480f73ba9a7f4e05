"""Keep fitted models in files that cannot run code: skops instead of pickle."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from skops.io.exceptions import UnsupportedTypeException

from labelweave._common.archives import check_sizes, damage_named
from labelweave._common.files import replacing
from labelweave._model_types import HARMLESS, check_trees
from labelweave.models import Structure

__all__ = ["load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or a pipeline that ends in one, to a file.

    A warning tells at once if :func:`load` will want to be told to trust some of its types.

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
    foreign = _foreign(skops.io.get_untrusted_types(data=content))
    if foreign:
        warnings.warn(
            f"{os.fspath(path)} will be read back only by those who trust the types "
            f"{', '.join(foreign)} (--trust on the command line, trusted= in Python)",
            stacklevel=2,
        )
    with replacing(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model back.

    labelweave's types and those known to be harmless (scikit-learn's estimators, NumPy, SciPy)
    are trusted; a file that names any other type is refused before anything in it is constructed.
    Decision trees are tables that compiled code follows unchecked: they are checked here.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` wrote.
    trusted : iterable of str
        Types to trust as well, e.g. ``"sklearn.neighbors._kd_tree.KDTree"``, whose tables
        compiled code follows unchecked, so that a forged one could do harm.

    Returns
    -------
    estimator
        The fitted model.
    """
    known = set(trusted)
    with Path(path).open("rb") as file, damage_named(path):
        with zipfile.ZipFile(file) as archive:
            check_sizes(archive)
            _check_kinds(json.loads(archive.read("schema.json")))
        named = skops.io.get_untrusted_types(file=file)
        refused = [name for name in _foreign(named) if name not in known]
        if not refused:
            model = skops.io.load(file, trusted=named)
            check_trees(model)
            _require_numbers(model)
            return model
    raise ValueError(
        f"{os.fspath(path)} is refused: it holds types not known to be safe, "
        f"{', '.join(refused)}; if you know where the file comes from, name them as "
        "trusted (--trust on the command line, trusted= in Python)"
    )


def _foreign(named: Iterable[str]) -> list[str]:
    """Return the types that are neither labelweave's own nor known to be harmless."""
    return [name for name in named if name not in HARMLESS and not _is_our_class(name)]


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
        if kind not in _own_kinds(name, kind):
            raise ValueError(f"it has {name} as {kind}, which labelweave never writes")


def _own_kinds(name: str, kind: str) -> tuple[str, ...]:
    """Return the kinds of nodes that may build a type; any for one that we do not vouch for."""
    if name in HARMLESS:
        return (HARMLESS[name],)
    return ("ObjectNode", "TupleNode") if _is_our_class(name) else (kind,)


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
