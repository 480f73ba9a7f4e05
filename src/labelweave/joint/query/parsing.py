"""Parse queries such as ``P(beach and not urban | sunset=0, count >= 2)``.

::

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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from labelweave.joint.query.events import (
    OPPOSITES,
    Count,
    Event,
    Literal,
    Query,
    conjunction,
    disjunction,
)

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
    """Return the query that a text stands for.

    Parameters
    ----------
    text : str
    n_labels : int
    label_names : sequence of str, optional
        An unquoted number is a label's position, unless some label has a number for its name.

    Raises
    ------
    ValueError
        With the text, and a mark at the place where it goes wrong.

    Examples
    --------
    >>> parse_query("P(beach | not urban)", 2, ["beach", "urban"])
    Query(event=Literal(label=0, value=1), given=Literal(label=1, value=0))
    >>> parse_query("beech or urban", 2, ["beach", "urban"])
    Traceback (most recent call last):
    ...
    ValueError: query: no label is named 'beech'; did you mean 'beach'?
        beech or urban
        ^^^^^
    """
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
            if kind != "quoted" and piece in _SIGNS and piece not in self.names:
                tokens.append(_Token("word", _SIGNS[piece], start, end))
            else:
                tokens.append(_Token(kind, self._spelled(kind, piece), start, end))
            start = end
        return tokens

    def _pieces(self, word: str) -> list[str]:
        """Cut signs off a word, unless they belong to the name of a label."""
        if word in self.names:
            return [word]
        name = word.lstrip("&~")
        signs = _SIGNS_IN_WORDS.findall(word[: len(word) - len(name)])
        return signs + ([name] if name in self.names else _SIGNS_IN_WORDS.findall(name))

    def _spelled(self, kind: str, piece: str) -> str:
        is_keyword = kind == "word" and piece not in self.names and piece.lower() in _KEYWORDS
        return piece.lower() if is_keyword else piece

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
        query = self._condition()
        if wrapped:
            self._expect(")", "expected ')', which closes 'P('")
        if self._is("|"):
            self._fail_at(self._next, _ONE_CONDITION)
        if self._next.kind != "end":
            hint = "" if self._next.kind == "symbol" else "; a name in several words needs quotes"
            self._fail_at(self._next, f"expected 'and', 'or', ',', '|' or the end{hint}")
        return query

    def _condition(self) -> Query:
        event = self._events()
        return Query(event, self._events()) if self._skip("|") else Query(event)

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
            if not self._is(*OPPOSITES, "=="):
                self._fail_at(self._next, "expected a comparison, as in 'count >= 2'")
            return Count(self._take().text.replace("==", "="), self._number())
        label = self._label()
        if not self._is("=", "==", "!="):
            return Literal(label, 1)
        negated = self._take().text == "!="
        if not self._is("0", "1"):
            self._fail_at(self._next, "a label is 0 or 1")
        return Literal(label, int(self._take().text) ^ negated)

    def _number(self) -> int:
        token = self._take()
        if token.kind != "word" or not re.fullmatch("[0-9]{1,9}", token.text):
            self._fail_at(token, "expected a whole number")
        return int(token.text)

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
