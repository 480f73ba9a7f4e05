"""A page as its elements: a strict parser on top of the standard library's."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "wbr"}


@dataclass
class Element:
    """An element with its attributes, and what is in it: elements and text."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    content: list[Element | str] = field(default_factory=list)

    def all(self, name: str, **attributes: str) -> list[Element]:
        """Return the elements below that have a name and the given words in their attributes."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        found = []
        for part in self.content:
            if isinstance(part, Element):
                own = part.attributes
                matches = all(v in (own.get(k) or "").split() for k, v in wanted.items())
                found += [part] * (part.name == name and matches) + part.all(name, **attributes)
        return found

    def one(self, name: str, **attributes: str) -> Element:
        (found,) = self.all(name, **attributes)
        return found

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.content)


class _Reader(HTMLParser):
    """Every element that is opened is closed, in turn."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [key for key, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>"
        element = Element(tag, dict(attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment that nobody wrote: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration that nobody wrote: {data}")


def parse(page: str) -> Element:
    """Return the root of a page, which must be well-formed."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], "an element is left open"
    return reader.root
