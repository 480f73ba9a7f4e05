"""The probability of a query: exact where the form allows, else estimated.

An event is expanded into *cubes* that exclude each other: some labels have given values, and the
number of labels, if it matters, is one of several. A cube is evidence, whose probability every form
knows, and the distribution of the number of labels given that evidence. Trees, independent labels
and mixtures of them are exact for any number of labels. An event of too many cubes is enumerated
while at most 16 labels are unknown, and averaged over weighted draws beyond
(docs/design/math.md, section 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks, tables
from labelweave.joint.estimate import (
    DEFAULT_SAMPLES,
    Estimate,
    mean_from_draws,
    normalised_weights,
)
from labelweave.joint.query.events import (
    CERTAIN,
    IMPOSSIBLE,
    And,
    Event,
    Literal,
    Query,
    conjunction,
)

if TYPE_CHECKING:
    from labelweave.joint.form import JointForm

# Events that do not expand within as many steps are enumerated or sampled: each cube costs about as
# much as conditioning does.
_MAX_STEPS = 64


@dataclass(frozen=True)
class Cube:
    """Labels of given values, and what is left of an event then.

    Attributes
    ----------
    known : dict
        From label to value.
    rest : Event
        Of an expanded event, a condition on the number of labels only.
    """

    known: dict[int, int]
    rest: Event

    def given(self, known: Mapping[int, int]) -> Cube:
        """Return the part of the cube in which more labels are known."""
        return Cube({**self.known, **known}, self.rest.given(known))


def factored(event: Event) -> Cube:
    """Return the labels whose values the event implies outright, and what is left of it.

    Examples
    --------
    >>> factored(conjunction([Literal(0, 1), Literal(3, 0)])).known
    {0: 1, 3: 0}
    """
    cube = Cube({}, event)
    while True:
        parts = cube.rest.parts if isinstance(cube.rest, And) else (cube.rest,)
        units = {part.label: part.value for part in parts if isinstance(part, Literal)}
        if not units:
            return cube
        cube = cube.given(units)


def expanded(event: Event) -> list[Cube] | None:
    """Return cubes that exclude each other and together are the event; None if there are too many.

    This is Shannon's expansion: an event is split by the value of one label after the other until
    only the number of labels matters.

    Examples
    --------
    >>> from labelweave.joint.query.events import disjunction
    >>> [cube.known for cube in expanded(disjunction([Literal(0, 1), Literal(1, 1)]))]
    [{0: 1}, {0: 0, 1: 1}]
    """
    cubes: list[Cube] = []
    pending = [Cube({}, event)]
    for _ in range(_MAX_STEPS):
        if not pending:
            return cubes
        cube = pending.pop()
        implied = factored(cube.rest)
        cube = Cube(cube.known | implied.known, implied.rest)
        if cube.rest == IMPOSSIBLE:
            continue
        label = next(cube.rest.labels(), None)
        if label is None:
            cubes.append(cube)
        else:
            pending += [cube.given({label: 0}), cube.given({label: 1})]
    return None


def probability(joint: JointForm, query: Query, samples: int | None, seed: int) -> Estimate:
    """Return P(event | given) of every row; nan where the condition has probability zero.

    Parameters
    ----------
    joint : JointDistribution
    query : Query
    samples : int or None
        Draws for each row; None for exact values where these can be had.
    seed : int

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint([[0.0, 0.0, 0.0]])
    >>> probability(joint, Query(Literal(0, 1).opposite(), Literal(1, 1)), None, 0).value
    array([0.5])
    """
    given = factored(query.given)
    posterior, log_prob = _conditioned(joint, given.known)
    found = _probability(posterior, query.event, given.rest, samples, seed)
    impossible = np.isneginf(log_prob.value)
    return Estimate(
        np.where(impossible, np.nan, found.value),
        np.where(impossible | np.isnan(found.value), np.nan, found.standard_error),
        found.exact | (impossible & log_prob.exact),
    )


def _probability(
    joint: JointForm, event: Event, given: Event, samples: int | None, seed: int
) -> Estimate:
    if samples is not None:
        return _from_draws(joint, event, given, samples, seed)
    cube = factored(event)
    if cube.rest == given == CERTAIN:  # evidence, for which forms have estimates of their own
        log_prob = joint._evidence_log_prob(_evidence(joint, cube.known))
        value = np.minimum(np.exp(log_prob.value), 1.0)
        return Estimate(value, value * log_prob.standard_error, log_prob.exact)
    value, exact = _ratio(joint, event, given)
    enumerable = ~exact & (joint.n_unknown <= MAX_ENUMERATED)
    value[enumerable] = _enumerated(joint[enumerable], event, given)
    exact |= enumerable
    error = np.zeros(joint.n_rows)
    drawn = _from_draws(joint[~exact], event, given, DEFAULT_SAMPLES, seed)
    value[~exact], error[~exact] = drawn.value, drawn.standard_error
    return Estimate(value, error, exact)


def _evidence(joint: JointForm, known: Mapping[int, int]) -> Labels:
    """Return values that are the same in every row as the forms take them."""
    evidence = np.full((joint.n_rows, joint.n_labels), -1, dtype=np.int8)
    for label, value in known.items():
        evidence[:, label] = value
    return evidence


def _conditioned(joint: JointForm, known: Mapping[int, int]) -> tuple[JointForm, Estimate]:
    """Return the posterior and the log-probability of what is known."""
    if not known:
        return joint, Estimate.of_exact(np.zeros(joint.n_rows))
    evidence = _evidence(joint, known)
    log_prob = joint._evidence_log_prob(evidence)
    return joint._condition(evidence, log_prob), log_prob


# ---------------------------------------------------------------------- exact


def _ratio(joint: JointForm, event: Event, given: Event) -> tuple[Floats, Mask]:
    """Return P(event, given) / P(given) where cubes are exact, and which rows these are."""
    both, exact = _by_cubes(joint, conjunction([event, given]))
    if given == CERTAIN:
        return both, exact
    alone, exact_alone = _by_cubes(joint, given)
    return _quotient(both, alone), exact & exact_alone


def _quotient(both: Floats, alone: Floats) -> Floats:
    """Return a conditional probability; nan where the condition is impossible."""
    result = np.full(both.shape, np.nan)
    np.divide(both, alone, out=result, where=alone > 0)
    return np.asarray(np.minimum(result, 1.0))


def _by_cubes(joint: JointForm, event: Event) -> tuple[Floats, Mask]:
    cubes = expanded(event)
    if cubes is not None:
        return _summed(joint, cubes)
    # Only then: of an event that is nearly impossible, the difference to one has few digits.
    rest = expanded(event.opposite())
    if rest is not None:
        value, exact = _summed(joint, rest)
        return 1.0 - value, exact
    return np.zeros(joint.n_rows), np.zeros(joint.n_rows, dtype=np.bool_)


def _summed(joint: JointForm, cubes: list[Cube]) -> tuple[Floats, Mask]:
    """Add up the cubes of every row until one of them is not exact there."""
    value, exact = np.zeros(joint.n_rows), np.ones(joint.n_rows, dtype=np.bool_)
    for cube in cubes:
        rows = np.flatnonzero(exact)
        if len(rows):
            part, exact[rows] = _of_cube(joint[rows], cube)
            value[rows] += part
    return np.minimum(value, 1.0), exact


def _of_cube(joint: JointForm, cube: Cube) -> tuple[Floats, Mask]:
    """Return P(labels of given values, and one of the right numbers of labels)."""
    if cube.rest == CERTAIN:
        log_prob = joint._evidence_log_prob(_evidence(joint, cube.known))
        return np.exp(log_prob.value), log_prob.exact
    posterior, log_prob = _conditioned(joint, cube.known)
    exact = log_prob.exact & posterior._is_exact("cardinality")
    share = np.zeros(joint.n_rows)
    share[exact] = _of_sizes(posterior[exact], cube.rest)
    # Where the labels can not have these values, the posterior is arbitrary and weighs nothing.
    return np.exp(log_prob.value) * share, exact


def _of_sizes(joint: JointForm, event: Event) -> Floats:
    """Return the probability of an event that depends on the number of labels only."""
    one_of_each_size = np.tri(joint.n_labels + 1, joint.n_labels, -1, dtype=np.int8)
    chosen = event.holds(one_of_each_size)
    return np.asarray(np.where(chosen, joint._exact("cardinality"), 0.0).sum(axis=1))


def _enumerated(joint: JointForm, event: Event, given: Event) -> Floats:
    value = np.empty(joint.n_rows)
    for rows, table in tables(joint):
        columns = np.arange(table.log_table.shape[1])
        vectors = table.vectors(np.broadcast_to(columns, table.log_table.shape))
        weight = np.where(given.holds(vectors), np.exp(table.log_table), 0.0)
        happens = np.where(event.holds(vectors), weight, 0.0)
        value[rows] = _quotient(happens.sum(axis=1), weight.sum(axis=1))
    return value


# ---------------------------------------------------------------------- estimated


def _from_draws(joint: JointForm, event: Event, given: Event, samples: int, seed: int) -> Estimate:
    """Average over the draws for which the condition holds; nan if it holds for none.

    The error is never stated below one over the effective number of draws: an event that was never
    drawn may still have about that probability.
    """
    value, error = np.empty(joint.n_rows), np.empty(joint.n_rows)
    for block in row_blocks(joint.n_rows, samples * joint.n_labels):
        labels, log_weight = joint[block]._weighted_sample(samples, seed)
        counted = np.where(given.holds(labels), log_weight, -np.inf)
        weight = normalised_weights(counted)
        mean, deviation = mean_from_draws(event.holds(labels).astype(np.float64), weight)
        deviation = np.maximum(deviation, (weight**2).sum(axis=1))
        none = np.isneginf(counted).all(axis=1)
        value[block] = np.where(none, np.nan, np.minimum(mean, 1.0))
        error[block] = np.where(none, np.nan, deviation)
    return Estimate(value, error, np.zeros(joint.n_rows, dtype=np.bool_))
