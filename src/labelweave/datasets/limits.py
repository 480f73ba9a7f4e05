"""How much a file may ask for: a damaged or hostile one should not exhaust the memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labelweave._common.checks import check_whole_number

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class Limits:
    """What reading a file may take; raise a limit for a file that is meant to be so large.

    Parameters
    ----------
    memory : int, default=2 GiB
        The most bytes a compressed file may become, and the most that one matrix made from a file
        may take.
    features : int, default=2^24
        The highest number of features, or labels, to believe in where a number in the text decides
        it (svmlight and XMC text). A text that is long enough to name more of them may have more.

    Examples
    --------
    >>> Limits().check_count(100_000_000, "features", text_bytes=14, source="tiny.svm")
    Traceback (most recent call last):
    ValueError: tiny.svm: a text of 14 bytes speaks of 100,000,000 features, ...
    """

    memory: int = 2**31
    features: int = 2**24

    def __post_init__(self) -> None:
        for name in ("memory", "features"):
            check_whole_number(getattr(self, name), name)

    def check_bytes(self, n_bytes: int, source: str) -> None:
        """Refuse a content of more bytes than allowed."""
        if n_bytes > self.memory:
            raise ValueError(
                f"{source}: holds more than {in_words(self.memory)}: if that is expected, raise "
                "the limit (limits=Limits(memory=…), --max-memory on the command line)"
            )

    def check_matrix(self, n_rows: int, n_columns: int, what: str, source: str) -> None:
        """Refuse a matrix of 8 bytes per entry that takes more memory than allowed."""
        needed = 8 * n_rows * n_columns
        if needed > self.memory:
            raise ValueError(
                f"{source}: a matrix of {n_rows:,} × {n_columns:,} ({what}) takes "
                f"{in_words(needed)}, more than {in_words(self.memory)}: read fewer of them, or "
                "raise the limit (limits=Limits(memory=…), --max-memory on the command line)"
            )

    def check_count(self, count: int, what: str, text_bytes: int, source: str) -> None:
        """Refuse more features or labels than allowed, unless the text can name them all."""
        if count > max(self.features, text_bytes):
            raise ValueError(
                f"{source}: a text of {text_bytes:,} bytes speaks of {count:,} {what}, more "
                f"than {self.features:,}: if that is meant, raise the limit "
                "(limits=Limits(features=…), --max-features on the command line)"
            )


def parse_size(text: str) -> int:
    """Return a number of bytes given in words.

    Examples
    --------
    >>> parse_size("16GB") == parse_size("16 GiB") == 16 * 2**30
    True
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * 1024 ** _UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise ValueError(f"expected a size such as 16GB, found {text!r}")
    return size


def in_words(n_bytes: int) -> str:
    """Return a number of bytes in the largest unit that fits.

    Examples
    --------
    >>> in_words(2**32), in_words(1500), in_words(12)
    ('4.0 GB', '1.5 KB', '12 bytes')
    """
    for unit, power in reversed(_UNITS.items()):
        if power and n_bytes >= 1024**power:
            return f"{n_bytes / 1024**power:.1f} {unit}B"
    return f"{n_bytes} bytes"
