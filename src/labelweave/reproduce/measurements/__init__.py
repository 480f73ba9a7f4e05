"""What can be measured: functions from a task to named values, each run in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labelweave.reproduce.measurements.chains import convergence, enumeration
from labelweave.reproduce.measurements.folds import fit_key, fold, forget_fit
from labelweave.reproduce.measurements.mixtures import map_agreement, tree_counts
from labelweave.reproduce.measurements.posteriors import (
    bias_variance,
    expected_f1,
    message_changes,
)
from labelweave.reproduce.measurements.streams import in_parts, stream, training_time
from labelweave.reproduce.task import Task

__all__ = ["MEASUREMENTS", "SHARED", "TIMED", "forget_fit"]

#: Every measurement by its name in a plan.
MEASUREMENTS: dict[str, Callable[[Task], dict[str, Any]]] = {
    "fold": fold,
    "convergence": convergence,
    "enumeration": enumeration,
    "tree_counts": tree_counts,
    "map_agreement": map_agreement,
    "stream": stream,
    "training_time": training_time,
    "in_parts": in_parts,
    "expected_f1": expected_f1,
    "message_changes": message_changes,
    "bias_variance": bias_variance,
}

#: Tasks of these measurements that have the same key are best measured one after another.
SHARED: dict[str, Callable[[Task], str]] = {"fold": fit_key}

#: Measurements of time, which must not compete for cores.
TIMED = ("enumeration", "training_time")
