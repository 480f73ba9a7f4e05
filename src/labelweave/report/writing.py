"""Write a document to a file; the extension determines the format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from labelweave._common.files import replacing
from labelweave.report.document import Document
from labelweave.report.html import to_html
from labelweave.report.latex import to_latex
from labelweave.report.markdown import to_markdown

__all__ = ["DOCUMENT_FORMATS", "check_document_path", "write_document"]

_RENDERERS: dict[str, Callable[[Document], str]] = {
    ".html": to_html,
    ".md": to_markdown,
    ".tex": to_latex,
}
#: The extensions of documents.
DOCUMENT_FORMATS = tuple(_RENDERERS)


def check_document_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a document, or raise an error if its extension is none of a document's.

    Examples
    --------
    >>> check_document_path("report.pdf")
    Traceback (most recent call last):
    ValueError: path must have the extension .html, .md or .tex; got report.pdf
    """
    target = Path(path)
    if target.suffix.lower() not in _RENDERERS:
        *others, last = DOCUMENT_FORMATS
        raise ValueError(
            f"path must have the extension {', '.join(others)} or {last}; got {target}"
        )
    return target


def write_document(document: Document, path: str | os.PathLike[str]) -> None:
    """Write a document as HTML, Markdown or LaTeX; there is never half a file.

    Parameters
    ----------
    document : Document
        The document.
    path : str or path-like
        A file with the extension ``.html``, ``.md`` or ``.tex``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_document(Document("Comparison", "emotions", ()), Path(folder, "report.md"))
    ...     print(Path(folder, "report.md").read_text(encoding="utf-8"))
    # Comparison
    <BLANKLINE>
    emotions
    <BLANKLINE>
    """
    target = check_document_path(path)
    text = _RENDERERS[target.suffix.lower()](document)
    with replacing(target) as file:
        file.write(text.encode())
