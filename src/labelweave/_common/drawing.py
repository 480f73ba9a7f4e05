"""Parts that all pictures share: colours, names that are not formulas, a missing matplotlib."""

from __future__ import annotations

#: Okabe and Ito's colours, which people with any kind of colour vision can tell apart. Yellow is
#: darker than theirs.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2328", "#8a7c00")
INK, EDGE = "#1f2328", "#7b8794"


def literal(text: object) -> str:
    r"""Return a name, escaped so that matplotlib shows it literally, on one line.

    Dollar signs would begin a formula, and an underscore at the start keeps a name out of legends.
    """
    shown = " ".join(str(text).splitlines()).replace("\t", " ").replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def matplotlib_missing(what: str, instead: str = "") -> ImportError:
    return ImportError(f"{what} needs matplotlib: pip install 'labelweave[plot]'{instead}")
