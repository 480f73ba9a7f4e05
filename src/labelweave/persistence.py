"""Keep fitted models in files that cannot run code: skops instead of pickle."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import skops.io
from skops.io.exceptions import UnsupportedTypeException

from labelweave._model_types import HARMLESS, check_trees

__all__ = ["load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or a pipeline that ends in one, to a file.

    A warning tells at once if :func:`load` will want to be told to trust some of its types.

    Parameters
    ----------
    model : estimator
        What to keep.
    path : str or path
        The file, by convention ``*.skops``; it is replaced if it exists.

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
    target = Path(path)
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
    # Written aside first: an interruption leaves the old file whole.
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


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
    try:
        named = skops.io.get_untrusted_types(file=Path(path))
        foreign = [name for name in _foreign(named) if name not in set(trusted)]
        if foreign:
            raise ValueError(
                f"{os.fspath(path)} is refused: it holds types not known to be safe, "
                f"{', '.join(foreign)}; if you know where the file comes from, name them as "
                "trusted (--trust on the command line, trusted= in Python)"
            )
        model = skops.io.load(Path(path), trusted=named)
    except (zipfile.BadZipFile, KeyError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(
            f"{os.fspath(path)} is not a model file that this version of labelweave can read "
            f"({type(error).__name__}: {error}); save the model again"
        ) from error
    try:
        check_trees(model)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} is refused: {error}") from error
    return model


def _foreign(named: Iterable[str]) -> list[str]:
    """Return the types that are neither labelweave's own nor known to be harmless."""
    return [name for name in named if name not in HARMLESS and not _is_our_class(name)]


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
