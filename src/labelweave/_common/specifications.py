"""Parse method specifications such as ``br, pcc(C=1, estimator=sklearn.svm.SVC(kernel='rbf'))``.

A specification is data and is never executed: a name, and options whose values are Python literals,
nested specifications, or lists and tuples of these.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

_OPENING = {"(": ")", "[": "]", "{": "}"}
_PATTERN = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Specification:
    """A name with options and positional arguments, such as ``PrecisionAtK(3)``."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[Any, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        named = [f"{key}={_written(value)}" for key, value in self.options.items()]
        given = [*map(_written, self.arguments), *named]
        return f"{self.name}({', '.join(given)})" if given else self.name


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))}{',' * (len(value) == 1)})"
    if not isinstance(value, Specification):
        return repr(value)
    return str(value) if value.options or value.arguments else f"{value}()"


def split_specifications(text: str) -> list[str]:
    """Split a list at the commas outside brackets and quotes."""
    parts, start, closing, quote = [], 0, [], ""
    for position, character in enumerate(text):
        if quote:
            # A backslash escapes the quote; literal backslashes are not needed.
            if character == quote and text[position - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            closing.append(_OPENING[character])
        elif character in _OPENING.values():
            if not closing or closing.pop() != character:
                raise ValueError(f"unexpected {character!r} in {text!r} at position {position + 1}")
        elif character == "," and not closing:
            parts.append(text[start:position])
            start = position + 1
    if closing or quote:
        raise ValueError(f"{closing[-1] if closing else quote!r} is missing at the end of {text!r}")
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_specification(text: str) -> Specification:
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"cannot parse {text!r}: expected a name or name(option=value, ...)")
    name, arguments = found.groups()
    if not arguments:
        return Specification(name)
    try:
        tree = ast.parse(f"_({arguments})", mode="eval").body
    except (SyntaxError, ValueError) as error:
        split_specifications(text)  # names the bracket or quote that is missing
        raise ValueError(
            f"cannot parse {text!r}: write options as name=value, separated by commas"
        ) from error
    # Brackets such as `a)(b` may have closed the call early.
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "_"):
        raise ValueError(f"cannot parse {text!r}: unbalanced brackets")
    return _specification(name, tree, text)


def _specification(name: str, node: ast.Call, text: str) -> Specification:
    arguments = tuple(_argument(argument, text) for argument in node.args)
    return Specification(name, _options(node, text), arguments)


def _argument(node: ast.expr, text: str) -> Any:
    try:
        return _value(node, "", text)
    except ValueError as error:
        shown = ast.unparse(node)
        raise ValueError(
            f"in {text!r}, {shown} needs the name of an option: name={shown}"
        ) from error


def _options(node: ast.Call, text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError(f"in {text!r}, ** is not supported: write options as name=value")
        if keyword.arg in options:
            raise ValueError(f"in {text!r}, {keyword.arg} is given twice")
        options[keyword.arg] = _value(keyword.value, keyword.arg, text)
    return options


def _value(node: ast.expr, option: str, text: str) -> Any:
    if isinstance(node, ast.Call):
        return _specification(_dotted(node.func, text), node, text)
    if isinstance(node, ast.List):
        return [_value(part, option, text) for part in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(part, option, text) for part in node.elts)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        shown, hint = ast.unparse(node), ""
        if isinstance(node, ast.Name):
            hint = (
                f"; strings need quotes: {option}='{shown}', methods brackets: {option}={shown}()"
            )
        elif isinstance(node, ast.Attribute):
            hint = f"; classes need brackets: {option}={shown}()"
        raise ValueError(
            f"in {text!r}, {option}={shown} is not a number, string, list, bool or None{hint}"
        ) from error


def _dotted(node: ast.expr, text: str) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, text)}.{node.attr}"
    raise ValueError(f"in {text!r}, {ast.unparse(node)} is not the name of a class")
