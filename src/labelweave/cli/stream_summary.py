"""What ``labelweave stream`` says of a learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from labelweave.cli.errors import BadInputError

if TYPE_CHECKING:
    from labelweave.distributed import PartitionedLearner
    from labelweave.online import StreamLearner


def figures(learner: StreamLearner | PartitionedLearner, seconds: float) -> str:
    """Return how far a learner has come, how fast and how well."""
    rows = learner.n_rows - learner.n_resumed
    parts = [f"{learner.n_rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s"]
    quality = learner.quality
    macro, micro = quality.macro(), quality.micro()
    if learner.score and macro == macro:  # nan after the first batch, which is not predicted
        parts.append(f"prequential F1 macro {macro:.3f} micro {micro:.3f}")
    if learner.n_bad:
        parts.append(f"{learner.n_bad:,} bad lines")
    return ", ".join(parts)


def show_summary(
    learner: StreamLearner | PartitionedLearner, seconds: float, out: Path, resumed: str
) -> None:
    """Say on standard error what was learned and where the model is."""
    lines = [f"learned from {figures(learner, seconds)}", resumed]
    if learner.n_bad:
        lines.append(f"first bad line: {learner.complaint}")
    size = f"{learner.state.n_features} features, {learner.state.n_labels} labels"
    typer.echo("\n".join(filter(None, [*lines, f"model: {out} ({size})"])), err=True)


@contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Lock the model and its checkpoint against other processes."""
    from labelweave._common.files import LockedError, locked

    try:
        with locked(out.with_name(out.name + ".lock")):
            yield
    except LockedError as error:
        raise BadInputError(
            f"--out: another process is learning {out}; wait for it or choose another file"
        ) from error
