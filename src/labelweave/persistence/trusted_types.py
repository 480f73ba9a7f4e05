"""Types of other libraries that model files may contain, and checks of their content.

skops trusts most of scikit-learn's estimators. These are helpers inside fitted pipelines that it
does not list: each holds numbers, names or settings, and none calls anything chosen by a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

__all__ = ["TRUSTED_TYPES", "check_decision_trees", "parts_of"]


def _names(module: str, *classes: str, kind: str = "ObjectNode") -> dict[str, str]:
    return {f"{module}.{name}": kind for name in classes}


def _functions(module: str, *names: str) -> dict[str, str]:
    return _names(module, *names, kind="FunctionNode")


#: Types that are trusted although skops does not list them, and the kind of node of each.
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
    | _names(
        "sklearn.tree._tree", "Tree", kind="TreeNode"
    )  # looked through by `check_decision_trees`
)


def check_decision_trees(model: Any) -> None:
    """Raise ValueError for decision trees with invalid node or feature indices.

    Compiled code follows these indices unchecked, so a forged tree could read any memory. Children
    must come after their parents, which also guarantees that every path ends.
    """
    for part in parts_of(model):
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


def parts_of(model: Any) -> Iterator[Any]:
    """Iterate over all objects that a model consists of, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        else:
            waiting += getattr(part, "__dict__", {}).values()
