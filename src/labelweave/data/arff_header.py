"""Parse the header of an ARFF file: the relation and the attributes, up to ``@data``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_NAME = re.compile(rf"""\s*({QUOTED}|[^\s{{}}%,'"][^\s{{}}%,]*)""")
_VALUE = re.compile(rf"""\s*({QUOTED}|[^\s{{}}%,'"][^\s{{}}%,]*)\s*""")
_KEYWORD = re.compile(r"\s*@(\w+)")
_TYPE = re.compile(r"\s*(\w+)")
_END = re.compile(r"\s*(%.*)?$", re.DOTALL)
_NUMERIC_TYPES = {"numeric", "real", "integer"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEKA_LABELS = re.compile(r"-C\s+(-?\d{1,9})\b")
_ISO_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True)
class Attribute:
    """A column of kind numeric, nominal, string or date, with its pattern in Java's notation."""

    name: str
    line: int
    values: tuple[str, ...] | None = None
    kind: str = "numeric"
    date_pattern: str = ""


@dataclass
class Header:
    """The part before the rows, which begin at the byte `offset`, in the line `line`."""

    relation: str = ""
    attributes: list[Attribute] = field(default_factory=list)
    offset: int = 0
    line: int = 1

    @property
    def names(self) -> list[str]:
        return [attribute.name for attribute in self.attributes]

    @property
    def meka_labels(self) -> int | None:
        """Meka's number of labels in the relation: k for the first k columns, -k for the last k."""
        found = _MEKA_LABELS.search(self.relation)
        return int(found[1]) if found else None


def parse_header(text: bytes, source: str) -> Header:
    """Parse the lines up to ``@data``; `source` names the file in messages."""
    header = Header()
    declared: dict[str, int] = {}
    while header.offset < len(text):
        end = text.find(b"\n", header.offset)
        end = len(text) if end < 0 else end
        line = _Line(text[header.offset : end].decode(), header.line, source)
        header.offset, header.line = min(end + 1, len(text)), header.line + 1
        if line.is_data(header):
            if not header.attributes:
                line.fail("an @attribute before @data", 0)
            return header
        if header.attributes and header.attributes[-1].line == line.number:
            _reject_repetition(header.attributes[-1], declared, line)
    raise ValueError(f"{source}:{header.line}:1: expected a line @data, found the end of the file")


class _Line:
    def __init__(self, text: str, number: int, source: str) -> None:
        self.text, self.number, self.source = text, number, source
        self.at = 0

    def is_data(self, header: Header) -> bool:
        """Parse the line into the header; return whether it is the line ``@data``."""
        if _END.match(self.text):
            return False
        keyword = self._keyword()
        if keyword == "relation":
            header.relation = self._relation()
        elif keyword == "attribute":
            header.attributes.append(self._attribute())
        elif keyword == "data":
            self._finish()
        else:
            self.fail("@relation, @attribute or @data", self._start())
        return keyword == "data"

    def _start(self) -> int:
        """Return where the next word starts."""
        rest = self.text[self.at :]
        return self.at + len(rest) - len(rest.lstrip())

    def _take(self, pattern: re.Pattern[str], expected: str) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            self.fail(expected, self._start())
        self.at = found.end()
        return found[1]

    def _keyword(self) -> str:
        start = self.at
        word = self._take(_KEYWORD, "@relation, @attribute or @data").lower()
        if word not in ("relation", "attribute", "data"):
            self.at = start
        return word

    def _relation(self) -> str:
        # In practice this is free text, which is kept verbatim if it is not a name.
        found = _NAME.match(self.text, self.at)
        if found and _END.match(self.text, found.end()):
            return unquote(found[1])
        return self.text[self.at :].strip()

    def _attribute(self) -> Attribute:
        name = unquote(self._take(_NAME, "the name of the attribute"))
        if self.text[self._start() :].startswith("{"):
            return Attribute(name, self.number, self._values(), "nominal")
        start = self._start()
        types = "numeric, real, integer, string, date or {value,value}"
        kind = self._take(_TYPE, f"{types} for its type").lower()
        if kind not in {*_NUMERIC_TYPES, "string", "date"}:
            self.fail(f"{types} for the type of {name!r}", start)
        pattern = ""
        if kind == "date":
            found = _NAME.match(self.text, self.at)
            pattern = unquote(self._take(_NAME, "the pattern of the date")) if found else _ISO_DATE
        self._finish()
        known = "numeric" if kind in _NUMERIC_TYPES else kind
        return Attribute(name, self.number, None, known, pattern)

    def _values(self) -> tuple[str, ...]:
        self.at = self._start() + 1
        values = [unquote(self._take(_VALUE, "a value of the nominal attribute"))]
        while self.text[self.at : self.at + 1] == ",":
            self.at += 1
            values.append(unquote(self._take(_VALUE, "a value of the nominal attribute")))
        if self.text[self.at : self.at + 1] != "}":
            self.fail("',' or '}'", self.at)
        self.at += 1
        self._finish()
        return tuple(dict.fromkeys(values))

    def _finish(self) -> None:
        if not _END.match(self.text, self.at):
            self.fail("the end of the line", self._start())

    def fail(self, expected: str, at: int) -> NoReturn:
        rest = self.text[at:].split()
        found = repr(rest[0][:40]) if rest else "the end of the line"
        raise ValueError(
            f"{self.source}:{self.number}:{at + 1}: expected {expected}, found {found}"
        )


def _reject_repetition(attribute: Attribute, declared: dict[str, int], line: _Line) -> None:
    first = declared.setdefault(attribute.name, line.number)
    if first != line.number:
        raise ValueError(
            f"{line.source}:{line.number}:1: expected a new attribute name, found "
            f"{attribute.name!r} again (declared in line {first})"
        )


def unquote(word: str) -> str:
    """Return a word without its quotes, with its escape sequences resolved."""
    if word[0] not in "'\"":
        return word
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), word[1:-1])
