"""Why this label, and why this set and not another: log-ratios as sums (math.md, section 12).

Under linear conditionals log P(y|x) − log P(y'|x) is a sum of contributions of features, of labels
and of their interaction; in a mixture, each member counts by its responsibility for the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_label, check_labels, check_whole_number
from labelweave._common.matrices import dense_features
from labelweave._common.pipelines import Inside, inside
from labelweave._common.wording import counted, left_out
from labelweave.joint import JointDistribution
from labelweave.joint.distribution import Evidence
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import LinearMembers

if TYPE_CHECKING:
    import pandas as pd


# Limits of the printed text: rows, contributions per row, and letters per name and per line.
_ROWS, _TERMS, _WIDTH, _LINE = 3, 5, 40, 98


@dataclass(frozen=True, repr=False)
class Explanation:
    """Terms that add up to log P(y|x) - log P(y'|x), one sum for each row.

    ``base_values + values.sum(axis=1)`` is the log-ratio. For a single label, y has it and y' does
    not, and the log-ratio is the label's log-odds given all other labels.

    Attributes
    ----------
    values : (n, T) array
        Contributions of the D features, the L labels, their interaction and, in a mixture, its
        components.
    base_values : (n,) array
        The sum for a row with the features and labels of the baseline.
    data : (n, T) array
        The values of features and labels, and the share of each component; NaN for the interaction.
    feature_names : tuple of str
        The names of all terms.
    kinds : tuple of str
        "feature", "label", "interaction" or "component".
    labels, against : (n, L) int8 arrays
        The vectors y and y'; `label_names` holds the names of their columns.
    by_label : (n, L) array
        The log-ratio by conditionals: log P(y_j | parents, x) under y minus the same under y'.
    between_components : (n,) array
        The part of the log-ratio that `by_label` does not sum to, in a mixture; zero otherwise.

    Examples
    --------
    >>> from labelweave import ClassifierChain, explain_label, load
    >>> data = load("emotions")
    >>> model = ClassifierChain(C=0.01, label_penalty=0.03).fit(data.X, data.Y)
    >>> explanation = explain_label(model, data.X[:3], 2)
    >>> explanation
    Explanation: 3 rows, 79 terms (to_frame lists them)
    row 0: log-ratio +1.594 of y2 given y1
            term value contribution
      base value             -0.437
              y1     1       +0.695
              y0     0       +0.590
              x4 6.215       +0.220
             x35 8.156       +0.209
             x67   136       +0.163
       72 others             +0.154
    row 1: ...
    >>> explanation.log_ratio.round(2)
    array([ 1.59, -4.35, -3.98])
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: Labels
    against: Labels
    label_names: tuple[str, ...]
    by_label: Floats
    between_components: Floats

    def __repr__(self) -> str:
        n = len(self.values)
        shown = [self._row_text(row) for row in range(min(n, _ROWS))]
        heading = f"{type(self).__name__}: {counted(n, 'row')}, "
        heading += f"{counted(len(self.feature_names), 'term')} (to_frame lists them)"
        return "\n".join([heading, *shown, *left_out(n - len(shown))])

    def _row_text(self, row: int) -> str:
        """Return a row's log-ratio, the vectors that it compares, and the largest contributions."""
        table = self.to_frame(row, _TERMS).drop(columns="kind")
        table["term"] = table["term"].str.slice(0, _WIDTH)
        formats = {"value": "{:.4g}".format, "contribution": "{:+.3f}".format}
        lines = table.to_string(index=False, formatters=formats, na_rep="").splitlines()
        title = f"row {row}: log-ratio {self.log_ratio[row]:+.3f} of {self.title(row)}"
        return "\n  ".join([*wrap(title, _LINE, break_on_hyphens=False), *lines])

    @property
    def log_ratio(self) -> Floats:
        """The sum of the terms, (n,)."""
        total: Floats = self.base_values + self.values.sum(axis=1)
        return total

    def title(self, row: int = 0) -> str:
        """Return the two sides of the log-ratio of a row in words."""
        labels, against = self.labels[row], self.against[row]
        differing = np.flatnonzero(labels != against)
        if len(differing) != 1:
            return f"{self._named(labels)} against {self._named(against)}"
        (label,) = differing
        name = self.label_names[label] if labels[label] else f"no {self.label_names[label]}"
        if len(self.label_names) == 1:
            return name
        return f"{name} given {self._named(np.minimum(labels, against), 'other')}"

    def _named(self, labels: Labels, kind: str = "") -> str:
        nothing = f"no {kind} label" if kind else "no label"
        return ", ".join(self.label_names[j] for j in np.flatnonzero(labels)) or nothing

    def shap_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``shap.Explanation``, whose plots then show all terms."""
        return {
            "values": self.values,
            "base_values": self.base_values,
            "data": self.data,
            "feature_names": list(self.feature_names),
        }

    def to_frame(self, row: int = 0, max_terms: int | None = None) -> pd.DataFrame:
        """Return the terms of a row as a table: the base value, then the largest contributions.

        By default all nonzero terms are listed. If `max_terms` is given, a last line sums up the
        others.
        """
        import pandas as pd

        row = check_whole_number(row, "row", 0, len(self.values) - 1)
        values = self.values[row]
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[values[order] != 0]
        kept = order if max_terms is None else order[: check_whole_number(max_terms, "max_terms")]
        lines = [("base value", "base", np.nan, self.base_values[row])]
        lines += [
            (self.feature_names[t], self.kinds[t], self.data[row, t], values[t]) for t in kept
        ]
        others = order[len(kept) :]
        if len(others):
            lines.append((f"{len(others)} others", "rest", np.nan, values[others].sum()))
        return pd.DataFrame(lines, columns=["term", "kind", "value", "contribution"])

    def by_label_frame(self, row: int = 0) -> pd.DataFrame:
        """Return the contribution of each label's conditional to the log-ratio of a row."""
        import pandas as pd

        row = check_whole_number(row, "row", 0, len(self.values) - 1)
        columns = {
            "label": self.label_names,
            "value": self.labels[row],
            "against": self.against[row],
            "contribution": self.by_label[row],
        }
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class LogRatio:
    """The terms of n log-ratios.

    ``base + features.sum(1) + labels.sum(1) + interaction + components.sum(1)`` is the log-ratio,
    which is also ``by_label.sum(1) + between_components``.
    """

    base: Floats  # the linear part at the baseline, (n,)
    features: Floats  # (n, S)
    # Labels as parents of differing labels, and the conditionals of equal labels, (n, L).
    labels: Floats
    # The part that is not linear, in labels that differ together with their parents, (n,).
    interaction: Floats
    # How far the members that explain the row differ from those of the baseline, (n, K).
    components: Floats
    shares: Floats  # how much each member explains, (n, K)
    by_label: Floats  # differences of conditional log-probabilities, averaged over members, (n, L)
    between_components: Floats  # the information of the vectors about the member, (n,)


def decompose(
    rows: LinearMembers, baseline: LinearMembers, rates: Floats, labels: Labels, against: Labels
) -> LogRatio:
    """Split the log-ratios of `labels` and `against`, (n, L) each, relative to a baseline.

    The baseline is a single row, whose labels have the values `rates`.
    """
    change = labels.astype(np.float64) - against
    log_odds, others = rows.log_odds(labels), rows.log_odds(against)
    by_label = _log_sigmoid(labels, log_odds) - _log_sigmoid(against, others)
    shares, gaps = _shares(
        rows.log_weights + _log_sigmoid(labels, log_odds).sum(axis=2).T,
        rows.log_weights + _log_sigmoid(against, others).sum(axis=2).T,
    )
    at_baseline = change @ baseline.log_odds(rates[None])[:, 0].T
    prior = np.exp(baseline.log_weights[0])
    base = at_baseline @ prior
    differs = change != 0
    bend = np.where(differs, _log_normaliser(others) - _log_normaliser(log_odds), 0.0)
    of_children = np.where(differs, 0.0, by_label)
    # How much the change of each label counts in each member.
    tilts = [(shares[:, [k]] * change, member) for k, member in enumerate(rows.conditionals)]
    weights = sum(tilt @ member.weights for tilt, member in tilts)
    couplings = sum(tilt @ member.coupling for tilt, member in tilts)
    distance = dense_features(rows.features) - dense_features(baseline.features)
    return LogRatio(
        base=base,
        features=weights * distance,
        labels=couplings * ((labels + against) / 2.0 - rates) + _averaged(of_children, shares),
        interaction=_averaged(bend, shares).sum(axis=1),
        components=(shares - prior) * (at_baseline - base[:, None]) + gaps,
        shares=shares,
        by_label=_averaged(by_label, shares),
        between_components=gaps.sum(axis=1),
    )


def _log_sigmoid(labels: Labels, log_odds: Floats) -> Floats:
    """Return log P(y_j | parents) of labels with these log-odds."""
    return -np.logaddexp(0.0, (1.0 - 2.0 * labels) * log_odds)


def _log_normaliser(log_odds: Floats) -> Floats:
    """Return log 2 cosh(z/2), so that log P(y_j | parents) = ±z/2 less this."""
    return np.logaddexp(0.5 * log_odds, -0.5 * log_odds)


def _shares(log_joint: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return how much each member counts, and its part of the rest of the log-ratio, (n, K).

    A member counts by its mean responsibility for the two vectors.
    """
    log_share = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    log_other = others - logsumexp(others, axis=1, keepdims=True)
    shares = (np.exp(log_share) + np.exp(log_other)) / 2.0
    possible = shares > 0
    gap = np.subtract(log_other, log_share, out=np.zeros_like(shares), where=possible)
    return shares, shares * gap


def _averaged(terms: Floats, shares: Floats) -> Floats:
    """Return the mean over the members of terms (K, n, L)."""
    return np.asarray(np.einsum("nk,knl->nl", shares, terms))


def _seen(model: Any, X: Any, feature_names: Sequence[str] | None) -> Inside:
    """Return rows of X as the innermost model sees them, with the names of their features."""
    if feature_names is None:
        columns = getattr(X, "columns", None)
        feature_names = columns if columns is not None else [f"x{d}" for d in range(X.shape[1])]
    if len(feature_names) != X.shape[1]:
        raise ValueError(
            f"feature_names must name the {X.shape[1]} features of X; it has {len(feature_names)}"
        )
    return inside(model, X, names=[str(name) for name in feature_names], delegates=True)


def explain_label(
    model: Any,
    X: Any,
    label: int | str,
    given: Evidence | None = None,
    *,
    baseline: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Return the contributions to the log-odds of a label given all other labels.

    A feature contributes its weight times its distance from the baseline, as in shap's
    ``LinearExplainer``; a parent of the label contributes its coupling times its distance from its
    frequency, and a child contributes how much more likely the label makes the child's value.

    Parameters
    ----------
    model : fitted estimator
        With linear conditionals: `BinaryRelevance`, `ClassifierChain`, `TreeNetwork`, ensembles and
        mixtures of chains and trees, or `JointClassifierCV` over one of them, whose features are
        the log-odds by its classifiers. In pipelines and searches, contributions are in terms of
        the features before scalers, but after transformers that make new features.
    X : (n, D) array, sparse matrix or data frame
    label : int or str
        Position or name.
    given : mapping, optional
        Labels that are known, as in `JointDistribution.condition`. The others take their values
        in the most probable label vector; a known value of the explained label only affects these.
    baseline : (D,) array or data frame of one row, optional
        The row to compare with; by default the mean of the training rows, which is taken after all
        transformers.
    feature_names : sequence of str, optional
        By default the columns of a data frame, else x0, x1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave import BinaryRelevance, explain_label
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
    asked = _asked(model, X, feature_names, baseline)
    joint = asked.joint
    number = check_label(label, "label", joint.n_labels, joint.label_names)
    posterior = joint.condition(given) if given else joint
    present = posterior.mode(asked.rows.model._inference()).labels.copy()
    absent = present.copy()
    present[:, number], absent[:, number] = 1, 0
    return _explained(asked, present, absent)


def explain_set(
    model: Any,
    X: Any,
    labels: ArrayLike | None = None,
    against: ArrayLike | None = None,
    *,
    baseline: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Return the contributions to log P(y|x) - log P(y'|x).

    A feature contributes to the log-odds of each label in which the vectors differ. Where a label
    and its parent both differ, the linear part is taken midway between the vectors, and the rest is
    the interaction. The split is antisymmetric: swapping the vectors changes every sign.

    Parameters
    ----------
    model, X, baseline, feature_names
        As in `explain_label`.
    labels : (n, L) array of 0/1, optional
        The vectors y; by default the most probable ones.
    against : (n, L) array of 0/1, optional
        The vectors y'; by default the most probable ones other than `labels`.

    Examples
    --------
    >>> from labelweave import TreeNetwork, explain_set, load
    >>> data = load("emotions")
    >>> model = TreeNetwork(C=0.01, label_penalty=0.03).fit(data.X, data.Y)
    >>> explanation = explain_set(model, data.X[:1], feature_names=data.feature_names)
    >>> explanation.labels, explanation.against
    (array([[0, 1, 1, 0, 0, 0]], dtype=int8), array([[0, 0, 1, 0, 0, 0]], dtype=int8))
    >>> best = model.predict_joint(data.X[:1]).top(2).log_prob
    >>> bool(abs(explanation.log_ratio - (best[:, 0] - best[:, 1])).max() < 1e-9)
    True
    """
    asked = _asked(model, X, feature_names, baseline)
    joint = asked.joint
    if labels is None:
        chosen = joint.mode(asked.rows.model._inference()).labels
    else:
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
    if against is None:
        other = _runner_up(joint, chosen)
    else:
        other = check_labels(against, joint.n_rows, joint.n_labels, "against")
    return _explained(asked, chosen, other)


def can_explain(model: Any) -> bool:
    """Whether `explain_label` and `explain_set` accept a fitted model."""
    inner = inside(model, delegates=True).model
    if not isinstance(inner, MultiLabelClassifier):
        return False
    return inner._linear_members(np.zeros((1, inner.n_features_in_))) is not None


class _Asked(NamedTuple):
    """Rows as the innermost model sees them, their members and joints, and the baseline."""

    rows: Inside
    members: LinearMembers
    joint: JointDistribution
    baseline: LinearMembers


def _asked(
    model: Any, X: Any, feature_names: Sequence[str] | None, baseline: ArrayLike | None
) -> _Asked:
    check_is_fitted(model)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be a matrix, one row for each example, such as X[:1]; its shape is {X.shape}"
        )
    rows = _seen(model, X, feature_names)
    members, compared = _members(rows), _baseline(model, X, rows, baseline)
    return _Asked(rows, members, rows.model.predict_joint(rows.X), compared)


def _members(rows: Inside) -> LinearMembers:
    because: str | None = None
    if isinstance(rows.model, MultiLabelClassifier):
        features = rows.model._features(rows.X, reset=False)
        members = rows.model._linear_members(features)
        if members is not None:
            return members
        because = rows.model._unexplained_because()
    name = type(rows.model).__name__
    raise ValueError(
        because
        or f"model must have conditionals with linear log-odds; those of {name} are not linear. "
        "JointClassifierCV puts a linear chain over any classifiers"
    )


def _runner_up(joint: JointDistribution, labels: Labels) -> Labels:
    """Return the most probable vectors other than `labels`."""
    best = joint.top(2).labels
    is_best = (labels == best[:, 0]).all(axis=1, keepdims=True)
    return np.where(is_best, best[:, 1], best[:, 0])


def _baseline(model: Any, X: Any, rows: Inside, baseline: Any) -> LinearMembers:
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
    return _members(_seen(model, baseline, None))


def _explained(asked: _Asked, labels: Labels, against: Labels) -> Explanation:
    rows, joint = asked.rows, asked.joint
    parts = decompose(asked.members, asked.baseline, rows.model._rates, labels, against)
    feature_names = rows.names or ()
    n, n_features = joint.n_rows, len(feature_names)
    # Several functions of a feature, such as its square, contribute together.
    of_features = parts.features.reshape(n, -1, n_features).sum(axis=1)
    names = joint.label_names or tuple(f"y{j}" for j in range(joint.n_labels))
    blocks: list[tuple[str, Sequence[str], Floats | Labels, Floats]] = [
        ("feature", feature_names, dense_features(rows.shown), of_features),
        ("label", names, labels, parts.labels),
        ("interaction", ["interaction"], np.full((n, 1), np.nan), parts.interaction[:, None]),
    ]
    n_components = parts.shares.shape[1]
    if n_components > 1:
        components = [f"component {k + 1}" for k in range(n_components)]
        blocks.append(("component", components, parts.shares, parts.components))
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
