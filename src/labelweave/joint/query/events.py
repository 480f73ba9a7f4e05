"""Events: sets of label vectors, built from labels and their number by and, or, not.

There is no class for "not": negations move inwards by De Morgan's laws until they reach a label or
a comparison, which have opposites of their own.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from labelweave._common.arrays import Labels, Mask

#: Comparisons of the number of labels, each with its opposite.
OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARISONS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Event(ABC):
    """A set of label vectors."""

    @abstractmethod
    def holds(self, vectors: Labels) -> Mask:
        """Return which of the label vectors (..., L) belong to the event, (...)."""

    @abstractmethod
    def opposite(self) -> Event:
        """Return the event that this one does not happen."""

    def given(self, known: Mapping[int, int]) -> Event:
        """Return what is left of the event once some labels are known."""
        return self

    def labels(self) -> Iterator[int]:
        """Yield the labels that the event mentions by name, some of them more than once."""
        return iter(())


@dataclass(frozen=True)
class Literal(Event):
    """A label has a value.

    Examples
    --------
    >>> Literal(0, 1).holds(np.array([[1, 0], [0, 0]]))
    array([ True, False])
    """

    label: int
    value: int

    def holds(self, vectors: Labels) -> Mask:
        """Return which of the label vectors have the value."""
        return np.asarray(vectors[..., self.label] == self.value)

    def opposite(self) -> Event:
        """Return the event that the label has the other value."""
        return Literal(self.label, 1 - self.value)

    def given(self, known: Mapping[int, int]) -> Event:
        """Return certainty or impossibility if the label is known."""
        if self.label not in known:
            return self
        return CERTAIN if known[self.label] == self.value else IMPOSSIBLE

    def labels(self) -> Iterator[int]:
        """Yield the label."""
        yield self.label


@dataclass(frozen=True)
class Count(Event):
    """The number of positive labels compares with a number.

    Examples
    --------
    >>> Count(">=", 1).holds(np.array([[1, 0], [0, 0]]))
    array([ True, False])
    """

    comparison: str
    number: int

    def holds(self, vectors: Labels) -> Mask:
        """Return which of the label vectors have that many positive labels."""
        return np.asarray(_COMPARISONS[self.comparison](vectors.sum(axis=-1), self.number))

    def opposite(self) -> Event:
        """Return the opposite comparison."""
        return Count(OPPOSITES[self.comparison], self.number)


@dataclass(frozen=True)
class _Compound(Event):
    parts: tuple[Event, ...]

    def given(self, known: Mapping[int, int]) -> Event:
        """Return the parts that are left, joined in the same way."""
        join = conjunction if isinstance(self, And) else disjunction
        return join([part.given(known) for part in self.parts])

    def labels(self) -> Iterator[int]:
        """Yield the labels of all parts."""
        for part in self.parts:
            yield from part.labels()


@dataclass(frozen=True)
class And(_Compound):
    """All parts happen; without parts, certainty. Made by `conjunction`."""

    def holds(self, vectors: Labels) -> Mask:
        """Return which of the label vectors belong to every part."""
        result = np.ones(vectors.shape[:-1], dtype=np.bool_)
        for part in self.parts:
            result &= part.holds(vectors)
        return result

    def opposite(self) -> Event:
        """Return that some part does not happen."""
        return disjunction([part.opposite() for part in self.parts])


@dataclass(frozen=True)
class Or(_Compound):
    """Some part happens; without parts, impossibility. Made by `disjunction`."""

    def holds(self, vectors: Labels) -> Mask:
        """Return which of the label vectors belong to some part."""
        result = np.zeros(vectors.shape[:-1], dtype=np.bool_)
        for part in self.parts:
            result |= part.holds(vectors)
        return result

    def opposite(self) -> Event:
        """Return that no part happens."""
        return conjunction([part.opposite() for part in self.parts])


CERTAIN: Final = And(())
IMPOSSIBLE: Final = Or(())


def conjunction(parts: Sequence[Event]) -> Event:
    """Return the event that all parts happen, in its simplest form.

    Examples
    --------
    >>> conjunction([Literal(0, 1), CERTAIN])
    Literal(label=0, value=1)
    >>> conjunction([Literal(0, 1), IMPOSSIBLE]) == IMPOSSIBLE
    True
    """
    flat = _flattened(And, parts)
    if IMPOSSIBLE in flat:
        return IMPOSSIBLE
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(parts: Sequence[Event]) -> Event:
    """Return the event that some part happens, in its simplest form.

    Examples
    --------
    >>> disjunction([Literal(0, 1), CERTAIN]) == CERTAIN
    True
    """
    flat = _flattened(Or, parts)
    if CERTAIN in flat:
        return CERTAIN
    return flat[0] if len(flat) == 1 else Or(flat)


def _flattened(kind: type[_Compound], parts: Sequence[Event]) -> tuple[Event, ...]:
    """Return the parts, with those of parts of the same kind in their place, each once."""
    flat: dict[Event, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, kind) else (part,))
    return tuple(flat)


@dataclass(frozen=True)
class Query:
    """P(event | given).

    Attributes
    ----------
    event : Event
    given : Event
        Certainty, unless the query has a condition.
    """

    event: Event
    given: Event = CERTAIN
