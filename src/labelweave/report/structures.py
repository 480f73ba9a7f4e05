"""Show label structures on the terminal and draw them into files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labelweave._common.files import replacing

if TYPE_CHECKING:
    from rich.console import Console

    from labelweave.models.structure import Structure

__all__ = ["FIGURE_FORMATS", "save_structures", "show_structures"]

#: File formats that `save_structures` can write.
FIGURE_FORMATS = (".png", ".svg", ".pdf", ".dot")

# For streams that cannot represent box-drawing characters.
_PLAIN = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|"})


def show_structures(structures: Sequence[Structure], console: Console) -> None:
    """Print forests as text, one after the other.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from labelweave import Structure
    >>> from labelweave.report import make_console
    >>> show_structures([Structure(np.array([-1, 0]))], make_console(sys.stdout))
    Structure(2 labels, 1 edges)
    0
    └─ 1
    """
    for number, structure in enumerate(structures, start=1):
        if len(structures) > 1:
            console.print(f"Tree {number} of {len(structures)}", style="bold", markup=False)
        text = repr(structure)
        try:
            text.encode(console.encoding)
        except UnicodeEncodeError:
            text = text.translate(_PLAIN)
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def save_structures(structures: Sequence[Structure], path: Path) -> None:
    """Draw forests into a file, one below the other; the extension determines the format.

    Requires matplotlib, except for ``.dot``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from labelweave import Structure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tree.dot")
    ...     save_structures([Structure(np.array([-1, 0]))], path)
    ...     path.read_text().splitlines()[0]
    'digraph labels {'
    """
    kind = path.suffix.lower()
    if kind not in FIGURE_FORMATS:
        raise ValueError(f"cannot draw into {path.name!r}: its extension must be {_listed()}")
    titles = [
        f"tree {number} of {len(structures)}" if len(structures) > 1 else None
        for number in range(1, len(structures) + 1)
    ]
    if kind == ".dot":
        graphs = [s.to_dot(title) for s, title in zip(structures, titles, strict=True)]
        with replacing(path) as file:
            file.write(("\n".join(graphs) + "\n").encode())
        return
    _draw(structures, titles, path)


def _listed() -> str:
    return ", ".join(FIGURE_FORMATS[:-1]) + f" or {FIGURE_FORMATS[-1]}"


def _draw(structures: Sequence[Structure], titles: Sequence[str | None], path: Path) -> None:
    from labelweave.models.structure import figure_of, plot_structures

    figure, axes = figure_of(structures, f"drawing {path.name}", pyplot=False)
    plot_structures(structures, titles, axes)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150)
