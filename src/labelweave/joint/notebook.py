"""Joint distributions, modes and lists of vectors as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.notebook import Share, html_table
from labelweave._common.wording import counted, left_out, positive_labels
from labelweave.joint.capabilities import HasConditionals, HasLinearConditionals

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution
    from labelweave.joint.results import Mode, Ranked

_ROWS, _LABELS, _VECTORS = 5, 12, 6
# A notebook shows a value without being asked: it must not take long.
_DRAWS, _MOST_SAMPLED = 100, 200


def joint_html(joint: JointDistribution) -> str:
    """Return form, sizes, and marginals of the first rows and labels if they cost little."""
    caption = f"{type(joint).__name__}: {counted(joint.n_rows, 'row')}, "
    caption += counted(joint.n_labels, "label")
    first = joint[:_ROWS]
    samples = _draws_needed(first)
    if first.n_rows == 0 or samples is None:
        notes = ["marginals() takes a while here"] if first.n_rows else []
        return html_table(caption, [], [], notes)
    marginals = first.estimate("marginals", samples=samples or None).value[:, :_LABELS]
    names = joint.label_names or tuple(map(str, range(joint.n_labels)))
    header = ["P(label)", *names[:_LABELS]]
    rows: list[list[str | Share]] = [
        [f"row {k}", *map(Share, map(float, row))] for k, row in enumerate(marginals)
    ]
    notes = [f"estimated from {_DRAWS} draws; marginals() takes more"] if samples else []
    notes += left_out(joint.n_rows - first.n_rows, joint.n_labels - marginals.shape[1])
    return html_table(caption, header, rows, notes)


def mode_html(mode: Mode) -> str:
    """Return the vectors of the first rows, with probability and proof."""
    n = len(mode.labels)
    caption = f"{type(mode).__name__}: {counted(n, 'row')}, {int(mode.optimal.sum())} proven"
    rows = [
        [
            f"row {k}",
            positive_labels(mode.labels[k], mode.label_names, _LABELS),
            _probability(mode.log_prob[k]),
            "proven" if mode.optimal[k] else f"gap ≤ {mode.gap[k]:.3g} nats",
        ]
        for k in range(min(n, 2 * _ROWS))
    ]
    header = ["", "labels", "probability", "certificate"]
    return html_table(caption, header, rows, left_out(n - len(rows)), n_left=2)


def ranked_html(ranked: Ranked) -> str:
    """Return the most probable vectors of the first rows."""
    n, k, _ = ranked.labels.shape
    rows = []
    for row in range(min(n, _ROWS)):
        proof = "proven" if ranked.exact[row] else f"others ≤ {np.exp(ranked.upper_bound[row]):.3g}"
        possible = np.flatnonzero(np.isfinite(ranked.log_prob[row]))[:_VECTORS]
        rows += [
            [
                f"row {row}" if rank == 0 else "",
                positive_labels(ranked.labels[row, rank], ranked.label_names, _LABELS),
                _probability(ranked.log_prob[row, rank]),
                proof if rank == 0 else "",
            ]
            for rank in possible
        ]
    caption = f"{type(ranked).__name__}: {counted(n, 'row')}, the {k} most probable vectors of each"
    header = ["", "labels", "probability", "certificate"]
    return html_table(caption, header, rows, left_out(n - min(n, _ROWS)), n_left=2)


def _draws_needed(joint: JointDistribution) -> int | None:
    """Return how many draws the marginals need, 0 if they are exact, None if they are costly."""
    if _asks_classifiers(joint):
        return None
    if joint._is_exact("marginals").all():
        return 0
    # Evidence on late labels of a chain makes draws much dearer.
    cheap = joint.n_labels <= _MOST_SAMPLED and bool((joint.known < 0).all())
    return _DRAWS if cheap else None


def _asks_classifiers(joint: JointDistribution) -> bool:
    if isinstance(joint, HasConditionals):
        return not isinstance(joint, HasLinearConditionals)
    return any(map(_asks_classifiers, getattr(joint, "components", ())))


def _probability(log_prob: float) -> str:
    return f"{np.exp(log_prob):.3g}"
