"""Write results to files; the ending of the name says in which form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelweave.cli.errors import BadInputError
from labelweave.cli.inputs import writable, write_text

if TYPE_CHECKING:
    from labelweave.evaluation import Comparison

__all__ = ["check_output", "write_comparison", "write_scores"]

_ENDINGS = (".json", ".csv", ".md")


def check_output(path: Path | None) -> None:
    """Complain before the work when the result would have no place, or no known form."""
    writable(path, "--output")
    if path is not None and path.suffix.lower() not in _ENDINGS:
        raise BadInputError(f"--output: {path} must end in .json, .csv or .md; rename it")


def write_comparison(result: Comparison, path: Path) -> None:
    """Write every fold's figures as JSON or CSV, or the table of means as Markdown."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = result.to_frame().to_csv(index=False)
    else:
        text = result.to_markdown() if ending == ".md" else result.to_json()
    write_text(path, text, "--output")


def write_scores(scores: Mapping[str, float], about: Mapping[str, Any], path: Path) -> None:
    """Write the figures of one model; JSON also keeps what they are `about`."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = "".join(["measure,value\n", *(f"{k},{v!r}\n" for k, v in scores.items())])
    elif ending == ".md":
        lines = [f"| {name} | {value:.4f} |" for name, value in scores.items()]
        text = "\n".join(["| measure | value |", "|---|---:|", *lines]) + "\n"
    else:
        figures = {k: v if math.isfinite(v) else str(v) for k, v in scores.items()}
        text = json.dumps({**about, "scores": figures}, indent=2) + "\n"
    write_text(path, text, "--output")
