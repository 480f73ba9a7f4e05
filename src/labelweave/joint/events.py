"""Events in words, parsed, and their probability: ``P(beach | urban=0, count >= 2)``.

Events are sets of label vectors, built from labels and their number by and, or, not. There is no
class for "not": negations move inwards by De Morgan's laws until they reach a label or a
comparison, which have opposites of their own. The grammar of queries::

    query      = "P" "(" condition ")" | condition
    condition  = events [ "|" events ]
    events     = either { "," either }            a comma is a weak "and"
    either     = both { "or" both }
    both       = single { "and" single }
    single     = "not" single | "(" events ")" | comparison
    comparison = "count" ("=" | "!=" | "<" | "<=" | ">" | ">=") number
               | label [ ("=" | "!=") ("0" | "1") ]

A label is a name, in quotes if it has spaces or one of ``()|,=!<>"'`` in it or is a word of the
grammar, or a position from 0. Words of the grammar may be in capitals, and ``&`` or ``&&``,
``||``, ``!`` or ``~`` stand for "and", "or" and "not", wherever no label is so named. A text is
read and never executed.

To find its probability, an event is expanded into *cubes* that exclude each other: some labels have
given values, and the number of labels, if it matters, is one of several. A cube is evidence, whose
probability every form knows, and a condition on the number of labels given that evidence. An event
of too many cubes is enumerated while at most 16 labels are unknown, and averaged over weighted
draws beyond (docs/design/math.md, section 10).
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks, tables
from labelweave.joint.quantities import (
    DEFAULT_SAMPLES,
    Estimate,
    error_at_least,
    mean_from_draws,
    normalised_weights,
)

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution


# Comparisons of the number of labels, each with its opposite.
_COMPARISONS: Final[dict[str, tuple[Callable[[Any, int], Any], str]]] = {
    "=": (operator.eq, "!="),
    "!=": (operator.ne, "="),
    "<": (operator.lt, ">="),
    "<=": (operator.le, ">"),
    ">": (operator.gt, "<="),
    ">=": (operator.ge, "<"),
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
    """A label has a value."""

    label: int
    value: int

    def holds(self, vectors: Labels) -> Mask:
        return np.asarray(vectors[..., self.label] == self.value)

    def opposite(self) -> Event:
        return Literal(self.label, 1 - self.value)

    def given(self, known: Mapping[int, int]) -> Event:
        if self.label not in known:
            return self
        return CERTAIN if known[self.label] == self.value else IMPOSSIBLE

    def labels(self) -> Iterator[int]:
        yield self.label


@dataclass(frozen=True)
class Count(Event):
    """The number of positive labels compares with a number."""

    comparison: str
    number: int

    def holds(self, vectors: Labels) -> Mask:
        compare, _ = _COMPARISONS[self.comparison]
        return np.asarray(compare(vectors.sum(axis=-1), self.number))

    def opposite(self) -> Event:
        return Count(_COMPARISONS[self.comparison][1], self.number)


@dataclass(frozen=True)
class Compound(Event):
    """Every part happens, or at least one of them does; made by `conjunction` and `disjunction`."""

    parts: tuple[Event, ...]
    every: bool

    def holds(self, vectors: Labels) -> Mask:
        join = np.logical_and if self.every else np.logical_or
        result = np.full(vectors.shape[:-1], self.every)
        for part in self.parts:
            result = join(result, part.holds(vectors))
        return result

    def opposite(self) -> Event:
        return _joined([part.opposite() for part in self.parts], every=not self.every)

    def given(self, known: Mapping[int, int]) -> Event:
        return _joined([part.given(known) for part in self.parts], every=self.every)

    def labels(self) -> Iterator[int]:
        for part in self.parts:
            yield from part.labels()


CERTAIN: Final = Compound((), every=True)
IMPOSSIBLE: Final = Compound((), every=False)


def conjunction(parts: Sequence[Event]) -> Event:
    """Return the event that all parts happen, in its simplest form."""
    return _joined(parts, every=True)


def disjunction(parts: Sequence[Event]) -> Event:
    """Return the event that some part happens, in its simplest form."""
    return _joined(parts, every=False)


def _joined(parts: Sequence[Event], *, every: bool) -> Event:
    """Join the parts, each once; a part of the same kind is replaced by its own parts."""
    flat: dict[Event, None] = {}
    for part in parts:
        if isinstance(part, Compound) and part.every == every:
            flat |= dict.fromkeys(part.parts)
        else:
            flat[part] = None
    decisive = IMPOSSIBLE if every else CERTAIN
    if decisive in flat:
        return decisive
    return next(iter(flat)) if len(flat) == 1 else Compound(tuple(flat), every)


@dataclass(frozen=True)
class Query:
    """P(event | given)."""

    event: Event
    given: Event = CERTAIN


_TOKEN = re.compile(
    r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<symbol><=|>=|!=|==|\|\||[()|,=<>!])
      | (?P<word>[^\s()|,=!<>"']+)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = ("and", "or", "not", "count")
#: How other languages write them.
_SIGNS = {"&": "and", "&&": "and", "||": "or", "!": "not", "~": "not"}
_SIGNS_IN_WORDS = re.compile(r"&&?|~|[^&~]+")
_ONE_CONDITION = "'|' comes once, before the condition; write 'or' for either of two events"
#: Deeper brackets are refused: a text must not be able to exhaust the stack.
_MAX_DEPTH = 50


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse_query(text: str, n_labels: int, label_names: Sequence[str] | None = None) -> Query:
    """Return the query that a text stands for."""
    if not isinstance(text, str):
        raise ValueError(f"query must be a text such as 'P(0 | not 1)'; got {text!r}")
    return _Parser(text, n_labels, label_names or ()).query()


class _Parser:
    """Recursive descent, one method for each line of the grammar."""

    def __init__(self, text: str, n_labels: int, names: Sequence[str]) -> None:
        self.text = text
        self.n_labels = n_labels
        self.names = {name: label for label, name in enumerate(names)}
        self.numbers_are_names = any(name.isdecimal() for name in names)
        self.depth = 0
        self.place = 0
        self.tokens = self._tokens()

    # ------------------------------------------------------------------ tokens

    def _tokens(self) -> list[_Token]:
        tokens, start = [], 0
        while start < len(self.text):
            if self.text[start].isspace():
                start += 1
                continue
            found = _TOKEN.match(self.text, start)
            if found is None:
                quote = self.text[start] in "\"'"
                what = "this quote is not closed" if quote else f"unexpected {self.text[start]!r}"
                self._fail(what, start, start + 1)
            tokens += self._read(str(found.lastgroup), found.group(), start)
            start = found.end()
        return [*tokens, _Token("end", "", len(self.text), len(self.text))]

    def _read(self, kind: str, text: str, start: int) -> list[_Token]:
        """Return the tokens of a piece of text, with words and signs in one spelling."""
        tokens = []
        for piece in self._pieces(text) if kind == "word" else [text]:
            end = start + len(piece)
            is_name = kind == "quoted" or piece in self.names
            if not is_name and piece in _SIGNS:
                tokens.append(_Token("word", _SIGNS[piece], start, end))
            else:
                is_keyword = not is_name and piece.lower() in _KEYWORDS
                tokens.append(_Token(kind, piece.lower() if is_keyword else piece, start, end))
            start = end
        return tokens

    def _pieces(self, word: str) -> list[str]:
        """Cut signs off a word, unless they belong to the name of a label."""
        if word in self.names:
            return [word]
        name = word.lstrip("&~")
        signs = _SIGNS_IN_WORDS.findall(word[: len(word) - len(name)])
        return signs + ([name] if name in self.names else _SIGNS_IN_WORDS.findall(name))

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("symbol", "word") and self._next.text in texts

    def _take(self) -> _Token:
        token = self._next
        self.place += 1
        return token

    def _skip(self, text: str) -> bool:
        """Pass over a symbol or word, if it comes next."""
        found = self._is(text)
        self.place += found
        return found

    def _expect(self, text: str, what: str) -> None:
        if not self._skip(text):
            self._fail_at(self._next, _ONE_CONDITION if self._is("|") else what)

    # ------------------------------------------------------------------ the grammar

    def query(self) -> Query:
        wrapped = self.tokens[0].text == "P" and self.tokens[1].text == "("
        self.place = 2 if wrapped else 0
        event = self._events()
        query = Query(event, self._events()) if self._skip("|") else Query(event)
        if wrapped:
            self._expect(")", "expected ')', which closes 'P('")
        if self._is("|"):
            self._fail_at(self._next, _ONE_CONDITION)
        if self._next.kind != "end":
            hint = "" if self._next.kind == "symbol" else "; a name in several words needs quotes"
            self._fail_at(self._next, f"expected 'and', 'or', ',', '|' or the end{hint}")
        return query

    def _events(self) -> Event:
        return conjunction(self._list(",", self._either))

    def _either(self) -> Event:
        return disjunction(self._list("or", self._both))

    def _both(self) -> Event:
        return conjunction(self._list("and", self._single))

    def _list(self, separator: str, part: Callable[[], Event]) -> list[Event]:
        parts = [part()]
        while self._skip(separator):
            parts.append(part())
        return parts

    def _single(self) -> Event:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self._fail_at(self._next, f"more than {_MAX_DEPTH} levels of brackets and 'not'")
        if self._skip("not"):
            event = self._single().opposite()
        elif self._skip("("):
            event = self._events()
            self._expect(")", "expected 'and', 'or', ',' or ')'")
        else:
            event = self._comparison()
        self.depth -= 1
        return event

    def _comparison(self) -> Event:
        if self._skip("count"):
            if not self._is(*_COMPARISONS, "=="):
                self._fail_at(self._next, "expected a comparison, as in 'count >= 2'")
            comparison, token = self._take().text.replace("==", "="), self._take()
            if token.kind != "word" or not re.fullmatch("[0-9]{1,9}", token.text):
                self._fail_at(token, "expected a whole number")
            return Count(comparison, int(token.text))
        label = self._label()
        if not self._is("=", "==", "!="):
            return Literal(label, 1)
        negated = self._take().text == "!="
        if not self._is("0", "1"):
            self._fail_at(self._next, "a label is 0 or 1")
        return Literal(label, int(self._take().text) ^ negated)

    def _label(self) -> int:
        token = self._take()
        if token.kind in ("symbol", "end") or self._is_keyword(token):
            self._fail_at(token, f"expected a label{self._quotes_hint(token)}")
        if token.kind == "quoted":
            return self._named(re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL), token)
        if token.text.isdecimal() and not self.numbers_are_names:
            if len(token.text) > 9 or int(token.text) >= self.n_labels:
                self._fail_at(token, f"labels are numbered from 0 to {self.n_labels - 1}")
            return int(token.text)
        return self._named(token.text, token)

    def _is_keyword(self, token: _Token) -> bool:
        return token.kind == "word" and token.text in _KEYWORDS

    def _quotes_hint(self, token: _Token) -> str:
        named = self._is_keyword(token) and token.text in self.names
        return f"; the label of this name needs quotes: '{token.text}'" if named else ""

    def _named(self, name: str, token: _Token) -> int:
        if name not in self.names:
            self._fail_at(token, f"no label is named {name!r}{self._nearest(name)}")
        return self.names[name]

    def _nearest(self, name: str) -> str:
        if not self.names:
            return f"; labels have no names here, only positions from 0 to {self.n_labels - 1}"
        lower = {other.lower(): other for other in self.names}
        near = get_close_matches(name.lower(), lower, n=3)
        # A name in several words is often left without quotes.
        near = near or [other for other in lower if other.startswith(name.lower())][:3]
        return f"; did you mean {' or '.join(repr(lower[n]) for n in near)}?" if near else ""

    # ------------------------------------------------------------------ errors

    def _fail_at(self, token: _Token, what: str) -> NoReturn:
        self._fail(what, token.start, max(token.end, token.start + 1))

    def _fail(self, what: str, start: int, end: int) -> NoReturn:
        # Each character keeps its place in the line, whatever space it is.
        shown = "".join(" " if c.isspace() else c for c in self.text)
        raise ValueError(f"query: {what}\n    {shown}\n    {' ' * start}{'^' * (end - start)}")


# Events that do not expand within as many steps are enumerated or sampled: each cube costs about as
# much as conditioning does.
_MAX_STEPS = 64


@dataclass(frozen=True)
class Cube:
    """Labels of given values, and what is left of an event then.

    Once the event is expanded, that is a condition on the number of labels only.
    """

    known: dict[int, int]
    rest: Event

    def given(self, known: Mapping[int, int]) -> Cube:
        """Return the part of the cube in which more labels are known."""
        return Cube({**self.known, **known}, self.rest.given(known))


def factored(event: Event) -> Cube:
    """Return the labels whose values the event implies outright, and what is left of it."""
    cube = Cube({}, event)
    while True:
        rest = cube.rest
        parts = rest.parts if isinstance(rest, Compound) and rest.every else (rest,)
        units = {part.label: part.value for part in parts if isinstance(part, Literal)}
        if not units:
            return cube
        cube = cube.given(units)


def expanded(event: Event) -> list[Cube] | None:
    """Return cubes that exclude each other and together are the event; None if there are too many.

    This is Shannon's expansion: an event is split by the value of one label after the other until
    only the number of labels matters.
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


def probability(joint: JointDistribution, query: Query, samples: int | None, seed: int) -> Estimate:
    """Return P(event | given) of every row; nan where the condition has probability zero."""
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
    joint: JointDistribution, event: Event, given: Event, samples: int | None, seed: int
) -> Estimate:
    if samples is not None:
        return _from_draws(joint, event, given, samples, seed)
    cube = factored(event)
    if cube.rest == given == CERTAIN:  # evidence, for which forms have estimates of their own
        _, log_prob = _conditioned(joint, cube.known)
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


def _conditioned(
    joint: JointDistribution, known: Mapping[int, int]
) -> tuple[JointDistribution, Estimate]:
    """Return the posterior and the log-probability of what is known."""
    if not known:
        return joint, Estimate.of_exact(np.zeros(joint.n_rows))
    evidence = np.full((joint.n_rows, joint.n_labels), -1, dtype=np.int8)
    evidence[:, list(known)] = list(known.values())
    return joint._clamp(evidence)


# ---------------------------------------------------------------------- exact


def _ratio(joint: JointDistribution, event: Event, given: Event) -> tuple[Floats, Mask]:
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


def _by_cubes(joint: JointDistribution, event: Event) -> tuple[Floats, Mask]:
    cubes = expanded(event)
    if cubes is not None:
        return _summed(joint, cubes)
    # Only then: of an event that is nearly impossible, the difference to one has few digits.
    rest = expanded(event.opposite())
    if rest is not None:
        value, exact = _summed(joint, rest)
        return 1.0 - value, exact
    return np.zeros(joint.n_rows), np.zeros(joint.n_rows, dtype=np.bool_)


def _summed(joint: JointDistribution, cubes: list[Cube]) -> tuple[Floats, Mask]:
    """Add up the cubes of every row until one of them is not exact there."""
    value, exact = np.zeros(joint.n_rows), np.ones(joint.n_rows, dtype=np.bool_)
    for cube in cubes:
        rows = np.flatnonzero(exact)
        if len(rows):
            part, exact[rows] = _of_cube(joint[rows], cube)
            value[rows] += part
    return np.minimum(value, 1.0), exact


def _of_cube(joint: JointDistribution, cube: Cube) -> tuple[Floats, Mask]:
    """Return P(labels of given values, and one of the right numbers of labels)."""
    posterior, log_prob = _conditioned(joint, cube.known)
    if cube.rest == CERTAIN:
        return np.exp(log_prob.value), log_prob.exact
    exact = log_prob.exact & posterior._is_exact("cardinality")
    one_of_each_size = np.tri(joint.n_labels + 1, joint.n_labels, -1, dtype=np.int8)
    chosen = cube.rest.holds(one_of_each_size)
    share = np.zeros(joint.n_rows)
    share[exact] = np.where(chosen, posterior[exact]._exact("cardinality"), 0.0).sum(axis=1)
    # Where the labels can not have these values, the posterior is arbitrary and weighs nothing.
    return np.exp(log_prob.value) * share, exact


def _enumerated(joint: JointDistribution, event: Event, given: Event) -> Floats:
    value = np.empty(joint.n_rows)
    for rows, table in tables(joint):
        columns = np.arange(table.log_table.shape[1])
        vectors = table.vectors(np.broadcast_to(columns, table.log_table.shape))
        weight = np.where(given.holds(vectors), np.exp(table.log_table), 0.0)
        happens = np.where(event.holds(vectors), weight, 0.0)
        value[rows] = _quotient(happens.sum(axis=1), weight.sum(axis=1))
    return value


# ---------------------------------------------------------------------- estimated


def _from_draws(
    joint: JointDistribution, event: Event, given: Event, samples: int, seed: int
) -> Estimate:
    """Average over the draws for which the condition holds; nan if it holds for none.

    The error is at least one over the effective number of draws, as for all probabilities.
    """
    value, error = np.empty(joint.n_rows), np.empty(joint.n_rows)
    for block in row_blocks(joint.n_rows, samples * joint.n_labels):
        labels, log_weight = joint[block]._weighted_sample(samples, seed)
        counted = np.where(given.holds(labels), log_weight, -np.inf)
        weight = normalised_weights(counted)
        mean, deviation = mean_from_draws(event.holds(labels).astype(np.float64), weight)
        deviation = error_at_least((weight**2).sum(axis=1), deviation)
        none = np.isneginf(counted).all(axis=1)
        value[block] = np.where(none, np.nan, np.minimum(mean, 1.0))
        error[block] = np.where(none, np.nan, deviation)
    return Estimate(value, error, np.zeros(joint.n_rows, dtype=np.bool_))
