"""Sequences of numbered names that are generated on demand instead of stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class NumberedNames(Sequence[str]):
    """The names ``x0, x1, …``, or ``x1, x2, …``, generated on demand.

    A file of a few bytes can refer to feature 100,000,000; storing the names would take gigabytes.
    """

    def __init__(self, prefix: str, count: int, start: int = 0) -> None:
        self.prefix, self.start = prefix, start
        self._numbers = range(start, start + count)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(f"{self.prefix}{number}" for number in self._numbers[index])
        return f"{self.prefix}{self._numbers[index]}"

    def __contains__(self, name: object) -> bool:
        return self._number(name) in self._numbers

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Return the position of a name; raise ValueError if it is not in the sequence."""
        return range(len(self))[start:stop].index(self._number(name) - self.start) + start

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return (self.prefix, self._numbers) == (other.prefix, other._numbers)
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))  # equal to the hash of the equal tuple

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self[:2]))
        return f"({few}, …, {self[-1]!r})" if len(self) > 3 else repr(tuple(self))

    def _number(self, name: object) -> int:
        """Return the number in a name, or -1 if the name does not have this form."""
        if not isinstance(name, str) or not name.startswith(self.prefix):
            return -1
        digits = name[len(self.prefix) :]
        is_plain = digits.isdecimal() and digits.isascii() and len(digits) < 20
        return int(digits) if is_plain and str(int(digits)) == digits else -1
