"""Why this label, and why this set and not another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_label, check_labels
from labelweave._common.features import dense_features
from labelweave._common.pipelines import core_model
from labelweave.joint import JointDistribution
from labelweave.joint.evidence import Evidence
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.explanations.explanation import Explanation
from labelweave.models.explanations.log_ratio import decompose
from labelweave.models.explanations.seen_rows import SeenRows, seen_rows
from labelweave.models.linear_members import LinearMembers


def explain_label(
    model: Any,
    X: Any,
    label: int | str,
    given: Evidence | None = None,
    *,
    baseline: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Return what adds up to the log-odds of a label given all other labels.

    A feature contributes its weight times its distance from the baseline, as in shap's
    ``LinearExplainer``; a label on which this one depends, its coupling times its distance from its
    frequency; a label that depends on this one, how much likelier its own value becomes.

    Parameters
    ----------
    model : fitted estimator
        With linear conditionals: `BinaryRelevance`, `ClassifierChain`, `TreeNetwork`, ensembles and
        mixtures of chains and trees, or `JointClassifierCV` over one of them, whose features are
        the log-odds by its classifiers. Also inside a pipeline or a search; contributions are in
        terms of the features before scalers, but after transformers that make new features.
    X : (n, D) array, sparse matrix or data frame
    label : int or str
        Position or name.
    given : mapping, optional
        Labels that are known, as in `JointDistribution.condition`. All others have their values in
        the most probable label vector; a value of the explained label itself only matters for that.
    baseline : (D,) array or data frame of one row, optional
        The row to compare with; by default the mean of the training rows, which is taken after all
        transformers.
    feature_names : sequence of str, optional
        By default the columns of a data frame, else x0, x1, ...

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.models import BinaryRelevance
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0], [1], [1], [1]])
    >>> model = BinaryRelevance(C=1.0).fit(X, Y)
    >>> explanation = explain_label(model, [[2.0]], 0)
    >>> round(float(model.conditionals_.weights[0, 0] * (2.0 - X.mean())), 3)
    0.409
    >>> explanation.to_frame().round(3)
             term     kind  value  contribution
    0  base value     base    NaN         1.300
    1          x0  feature    2.0         0.409
    """
    rows, members, joint = _asked(model, X, feature_names)
    number = check_label(label, "label", joint.n_labels, joint.label_names)
    posterior = joint.condition(given) if given else joint
    present = posterior.mode(rows.model._inference()).labels.copy()
    absent = present.copy()
    present[:, number], absent[:, number] = 1, 0
    return _explained(rows, members, joint, present, absent, _baseline(model, X, rows, baseline))


def explain_set(
    model: Any,
    X: Any,
    labels: ArrayLike | None = None,
    against: ArrayLike | None = None,
    *,
    baseline: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Return what adds up to log P(y|x) - log P(y'|x).

    A feature contributes to the log-odds of each label in which the vectors differ, as in
    `explain_label`. Where a label and one that it depends on both differ, its conditional is not
    linear: the linear part is taken midway between the vectors, and what remains is the
    interaction. The split is antisymmetric: swapping the vectors changes every sign.

    Parameters
    ----------
    model, X, baseline, feature_names
        As in `explain_label`.
    labels : (n, L) array of 0/1, optional
        The vectors y; by default the most probable ones.
    against : (n, L) array of 0/1, optional
        The vectors y'; by default the most probable ones other than `labels`.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import TreeNetwork
    >>> data = load_emotions()
    >>> model = TreeNetwork(C=0.01, label_penalty=0.03).fit(data.X, data.Y)
    >>> explanation = explain_set(model, data.X[:1], feature_names=data.feature_names)
    >>> explanation.labels, explanation.against
    (array([[0, 1, 1, 0, 0, 0]], dtype=int8), array([[0, 0, 1, 0, 0, 0]], dtype=int8))
    >>> best = model.predict_joint(data.X[:1]).top(2).log_prob
    >>> bool(abs(explanation.log_ratio - (best[:, 0] - best[:, 1])).max() < 1e-9)
    True
    """
    rows, members, joint = _asked(model, X, feature_names)
    if labels is None:
        chosen = joint.mode(rows.model._inference()).labels
    else:
        chosen = _checked(labels, joint, "labels")
    other = _runner_up(joint, chosen) if against is None else _checked(against, joint, "against")
    return _explained(rows, members, joint, chosen, other, _baseline(model, X, rows, baseline))


def can_explain(model: Any) -> bool:
    """Whether `explain_label` and `explain_set` accept a fitted model.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelweave.models import BinaryRelevance
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0, 1], [1, 1], [1, 0]]
    >>> neighbours = KNeighborsClassifier(n_neighbors=1)
    >>> [can_explain(BinaryRelevance(estimator=e).fit(X, Y)) for e in (None, neighbours)]
    [True, False]
    """
    inner = core_model(model)
    if not isinstance(inner, MultiLabelClassifier):
        return False
    return inner._linear_members(np.zeros((1, inner.n_features_in_))) is not None


def _asked(
    model: Any, X: Any, feature_names: Sequence[str] | None
) -> tuple[SeenRows, LinearMembers, JointDistribution]:
    """Return the rows as the innermost model sees them, its members, and the joint."""
    check_is_fitted(model)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be a matrix, one row for each example, such as X[:1]; its shape is {X.shape}"
        )
    rows = seen_rows(model, X, feature_names)
    if not isinstance(rows.model, MultiLabelClassifier):
        raise _unexplained(rows.model)
    members = _members(rows)
    return rows, members, rows.model.predict_joint(rows.X)


def _members(rows: SeenRows) -> LinearMembers:
    features = rows.model._features(rows.X, reset=False)
    members: LinearMembers | None = rows.model._linear_members(features)
    if members is None:
        raise _unexplained(rows.model)
    return members


def _unexplained(model: Any) -> ValueError:
    because = model._unexplained_because() if isinstance(model, MultiLabelClassifier) else None
    if because is not None:
        return ValueError(because)
    return ValueError(
        f"model must have conditionals with linear log-odds; those of {type(model).__name__} are "
        "not linear. JointClassifierCV puts a linear chain over any classifiers"
    )


def _checked(labels: ArrayLike, joint: JointDistribution, name: str) -> Labels:
    return check_labels(labels, joint.n_rows, joint.n_labels, name)


def _runner_up(joint: JointDistribution, labels: Labels) -> Labels:
    """Return the most probable vectors other than `labels`."""
    best = joint.top(2).labels
    is_best = (labels == best[:, 0]).all(axis=1, keepdims=True)
    return np.where(is_best, best[:, 1], best[:, 0])


def _baseline(model: Any, X: Any, rows: SeenRows, baseline: Any) -> LinearMembers:
    """Return the row to compare with as the conditionals see it."""
    if baseline is None:
        if not hasattr(rows.model, "_means"):
            raise ValueError(
                "the model was fitted by a version that kept no mean training row: pass one as "
                "baseline, or fit the model again"
            )
        members: LinearMembers = rows.model._linear_members(rows.model._means[None])
        return members
    if not hasattr(baseline, "columns"):
        baseline = np.asarray(baseline, dtype=np.float64).reshape(1, -1)
    if hasattr(X, "columns") and not hasattr(baseline, "columns"):
        baseline = type(X)(baseline, columns=X.columns)
    return _members(seen_rows(model, baseline, None))


def _explained(
    rows: SeenRows,
    members: LinearMembers,
    joint: JointDistribution,
    labels: Labels,
    against: Labels,
    baseline: LinearMembers,
) -> Explanation:
    parts = decompose(members, baseline, rows.model._rates, labels, against)
    n, n_features = joint.n_rows, len(rows.names)
    # Several functions of a feature, such as its square, contribute together.
    of_features = parts.features.reshape(n, -1, n_features).sum(axis=1)
    names = joint.label_names or tuple(f"y{j}" for j in range(joint.n_labels))
    n_components = parts.shares.shape[1] if parts.shares.shape[1] > 1 else 0
    blocks: list[tuple[str, Sequence[str], Floats | Labels, Floats]] = [
        ("feature", rows.names, dense_features(rows.shown), of_features),
        ("label", names, labels, parts.labels),
        ("interaction", ["interaction"], np.full((n, 1), np.nan), parts.interaction[:, None]),
        (
            "component",
            [f"component {k + 1}" for k in range(n_components)],
            parts.shares[:, :n_components],
            parts.components[:, :n_components],
        ),
    ]
    return Explanation(
        values=np.hstack([contributions for *_, contributions in blocks]),
        base_values=parts.base,
        data=np.hstack([data for _, _, data, _ in blocks]),
        feature_names=tuple(name for _, block, _, _ in blocks for name in block),
        kinds=tuple(kind for kind, block, _, _ in blocks for _ in block),
        labels=labels,
        against=against,
        label_names=names,
        by_label=parts.by_label,
        between_components=parts.between_components,
    )
