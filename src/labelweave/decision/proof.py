"""Tell when a vector that should be the mode is not proven to be it."""

from __future__ import annotations

import warnings

from labelweave.inference import Auto
from labelweave.inference.strategy import Inference
from labelweave.joint import Mode

__all__ = ["UnprovenModeWarning", "warn_unless_proven"]


class UnprovenModeWarning(UserWarning):
    """A prediction asked for the most probable label vector and got the best one found.

    Examples
    --------
    To be told nothing of it:

    >>> import warnings
    >>> warnings.simplefilter("ignore", UnprovenModeWarning)
    """


def warn_unless_proven(mode: Mode, strategy: Inference) -> None:
    """Warn if a strategy left some rows unproven; by Python's rules, once in a session."""
    left = ~mode.optimal
    if left.any():
        gap = mode.gap[left]
        search = "mode()" if strategy == Auto() else f"mode({strategy!r})"
        warnings.warn(
            f"{left.sum()} of {len(left)} rows have the best label vector found, not one proven to "
            f"be the most probable: the mode may be up to {gap.max():.2g} nats likelier "
            f"({gap.mean():.2g} on average); predict_joint(X).{search}.gap tells row by row, "
            "Auto(budget=...) searches longer with a larger budget",
            UnprovenModeWarning,
            stacklevel=4,
        )
