"""Save models to files and load them, without pickle.

skops writes a model as JSON and arrays, and constructs only types that are trusted, so that a file
cannot run code. Three checks come on top: the sizes that a file declares must fit its bytes, each
trusted type must be constructed in its own way, and indices that compiled code follows unchecked,
such as those of decision trees, must be valid.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from skops.io.exceptions import UnsupportedTypeException

from labelweave._common.files import check_sizes, damage_named, replacing
from labelweave.models.structure import Structure


def _names(module: str, *classes: str, kind: str = "ObjectNode") -> dict[str, str]:
    return {f"{module}.{name}": kind for name in classes}


def _functions(module: str, *names: str) -> dict[str, str]:
    return _names(module, *names, kind="FunctionNode")


#: Types that are trusted although skops does not list them, and the kind of node of each. Most are
#: parts of fitted pipelines that hold numbers, names or settings; none calls a function that the
#: file chooses.
TRUSTED_TYPES = (
    # skops reads these with SciPy's load_npz, which runs no code, but does not list them.
    _names("scipy.sparse._csr", "csr_array", "csr_matrix", kind="SparseMatrixNode")
    | _names("scipy.sparse._csc", "csc_array", "csc_matrix", kind="SparseMatrixNode")
    | _names("numpy", "dtype", kind="DTypeNode")
    | _names("sklearn.compose._column_transformer", "make_column_selector")
    | _names("sklearn.calibration", "_CalibratedClassifier", "_SigmoidCalibration")
    | _functions("sklearn.feature_selection._univariate_selection", "chi2", "f_classif")
    | _functions("sklearn.feature_selection._mutual_info", "mutual_info_classif")
    | _names("sklearn.metrics._scorer", "_PassthroughScorer", "_Scorer", "_MultimetricScorer")
    | _functions(
        "sklearn.metrics._classification",
        *("accuracy_score", "f1_score", "fbeta_score", "hamming_loss", "jaccard_score"),
        *("log_loss", "precision_score", "recall_score"),
    )
    | _functions("sklearn.metrics._ranking", "average_precision_score", "roc_auc_score")
    | _names(
        "sklearn.model_selection._split",
        *("KFold", "StratifiedKFold", "RepeatedKFold", "RepeatedStratifiedKFold"),
        *("ShuffleSplit", "StratifiedShuffleSplit", "TimeSeriesSplit"),
    )
    | _names("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer", "SGDOptimizer")
    | _names("sklearn.tree._tree", "Tree", kind="TreeNode")  # see `check_decision_trees`
)


def check_decision_trees(model: Any) -> None:
    """Raise ValueError for decision trees whose indices could lead compiled code astray."""
    for part, _ in _parts_of(model):
        if isinstance(part, Tree):
            _check_tree(part)
        elif isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
            _check_width(part, [part])
        elif isinstance(part, BaseGradientBoosting) and hasattr(part, "estimators_"):
            # Its trees are evaluated without checking the number of features of each.
            _check_width(part, list(np.ravel(part.estimators_)))


def _check_width(estimator: Any, members: list[Any]) -> None:
    if any(member.tree_.n_features != estimator.n_features_in_ for member in members):
        raise ValueError("a decision tree and its estimator differ in the number of features")


def _check_tree(tree: Any) -> None:
    # Children must come after their parents, so that every path ends.
    nodes = np.arange(tree.node_count)
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    children_fit = all(
        ((side[inner] > nodes[inner]) & (side[inner] < tree.node_count)).all()
        for side in (left, right)
    )
    feature = tree.feature[inner]
    features_fit = ((feature >= 0) & (feature < tree.n_features)).all()
    if not (children_fit and features_fit and tree.node_count > 0):
        raise ValueError("a decision tree has invalid node or feature indices")
    depth = np.zeros(tree.node_count, dtype=np.int64)
    for node in nodes[inner]:
        depth[[left[node], right[node]]] = depth[node] + 1
    if depth.max() > tree.max_depth:
        raise ValueError("a decision tree is deeper than declared")


def _parts_of(model: Any) -> Iterator[tuple[Any, bool]]:
    """Yield each object of a model once, and whether one of labelweave's objects holds it."""
    waiting, seen = [(model, False)], set()
    while waiting:
        part, ours = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part, ours
        inner: Iterable[Any] = ()
        if isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            inner = part
        elif isinstance(part, np.ndarray):
            inner = part.ravel().tolist() if part.dtype == object else ()
        else:
            inner = getattr(part, "__dict__", {}).values()
            # Predictions do not use a structure's gains, which are NaN if not measured.
            ours = _is_ours(part) and not isinstance(part, Structure)
        waiting += [(each, ours) for each in inner]


def _is_ours(part: Any) -> bool:
    return type(part).__module__.startswith("labelweave.")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model, or a pipeline that ends in one, to a file, by convention ``*.skops``.

    Warns if the model contains types that `load_model` will not trust by default.

    Parameters
    ----------
    model : estimator
    path : str or path
        An existing file is replaced atomically: if the process or the machine stops, either the
        old file or the new one is there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labelweave import BinaryRelevance, save_model
    >>> model = BinaryRelevance(C=1.0).fit([[0], [1]], [[1, 0], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, pathlib.Path(folder, "model.skops"))
    """
    try:
        content = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    except (UnsupportedTypeException, TypeError) as error:
        raise ValueError(f"model cannot be saved: {error}") from error
    foreign = _foreign(skops.io.get_untrusted_types(data=content))
    if foreign:
        warnings.warn(
            f"{os.fspath(path)} can only be loaded by trusting the types "
            f"{', '.join(foreign)} (--trust on the command line, trusted= in Python)",
            stacklevel=2,
        )
    with replacing(path) as file:
        file.write(content)


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Load a model from a file.

    labelweave's types and those known to be harmless (scikit-learn's estimators, NumPy, SciPy) are
    trusted; a file that contains any other type is rejected before anything in it is constructed.

    Parameters
    ----------
    path : str or path
        A file written by `save_model`.
    trusted : iterable of str
        Additional types to trust, e.g. ``"sklearn.neighbors._kd_tree.KDTree"``. Compiled code
        follows the tables of this type unchecked, so a forged file could do harm.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0], [1]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, pathlib.Path(folder, "model.skops"))
    ...     load_model(pathlib.Path(folder, "model.skops")).predict([[2]])
    array([1])
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
            check_decision_trees(model)
            _check_own_parts(model)
            return model
    raise ValueError(
        f"{os.fspath(path)} is rejected: it contains types that are not known to be safe, "
        f"{', '.join(refused)}; if you know where the file comes from, declare them as "
        "trusted (--trust on the command line, trusted= in Python)"
    )


def _check_own_parts(model: Any) -> None:
    """Raise ValueError for NaN and impossible sizes and positions in labelweave's objects."""
    for part, ours in _parts_of(model):
        is_weight = ours and isinstance(part, np.ndarray) and part.dtype.kind == "f"
        if is_weight and np.isnan(part).any():
            raise ValueError("it contains weights that are NaN")
        if _is_ours(part) and hasattr(part, "_check_learned"):
            part._check_learned()


def _foreign(named: Iterable[str]) -> list[str]:
    return [name for name in named if name not in TRUSTED_TYPES and not _is_our_class(name)]


def _check_kinds(node: Any) -> None:
    """Raise ValueError if a trusted type is to be constructed by a foreign kind of node.

    Some kinds of nodes do not construct the type they name: they call a function or look up an
    attribute, and chains of these can reach anything.
    """
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        _check_kinds(part)
    if isinstance(node, dict) and "__loader__" in node:
        name, kind = f"{node.get('__module__')}.{node.get('__class__')}", node["__loader__"]
        if kind not in _own_kinds(name, kind):
            raise ValueError(f"it has {name} as {kind}, which labelweave never writes")


def _own_kinds(name: str, kind: str) -> tuple[str, ...]:
    """Return the kinds of nodes that may construct a type; `kind` itself if it is not trusted."""
    if name in TRUSTED_TYPES:
        return (TRUSTED_TYPES[name],)
    return ("ObjectNode", "TupleNode") if _is_our_class(name) else (kind,)


def _is_our_class(name: str) -> bool:
    """Whether a dotted name is a class defined in labelweave, not merely imported there."""
    module_name, _, class_name = name.rpartition(".")
    if module_name.partition(".")[0] != "labelweave":
        return False
    try:
        found = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and found.__module__ == module_name
