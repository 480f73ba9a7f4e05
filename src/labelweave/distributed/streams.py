"""Learn a Bayesian online classifier from a stream in partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import Client

from labelweave._common.engine import Engine
from labelweave.distributed.connection import as_engine
from labelweave.distributed.partitioned_learner import PartitionedLearner
from labelweave.online import BayesianOnlineClassifier

__all__ = ["fit_stream"]


def fit_stream(
    model: BayesianOnlineClassifier,
    partitions: Sequence[Any],
    *,
    client: Client | Engine,
    rounds: int = 1,
    checkpoint: Path | str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[PartitionedLearner], None] | None = None,
) -> BayesianOnlineClassifier:
    """Learn a Bayesian online classifier from partitions, each on a worker.

    Every partition is learned from the same prior, and what the partitions taught is added up, in
    their order: the result is the same bits for any number of workers, and if workers die on the
    way. In a further round each partition is learned again, from what all the others have taught,
    and the posterior moves by the mean of what the partitions ask for (see
    `labelweave.online.sites`).

    Parameters
    ----------
    model : BayesianOnlineClassifier
        The model; its `passes` and `shuffle` do not matter here.
    partitions : sequence of path, pair of arrays or Future
        Files that the workers can open, as `RowStream` reads them; or (X, Y) in memory; or futures
        of such pairs. A worker holds one partition in memory at a time.
    client : distributed.Client or Engine
        Where to learn.
    rounds : int, default=1
        How often to learn from every partition.
    checkpoint : path, optional
        A folder for what the partitions taught: after a failure the same call goes on from it. It
        is removed at the end.
    options : dict, optional
        How to read files: `zero_based`, `n_features`, `n_labels` and `skip_bad` of `RowStream`.
        Unless `n_labels` is given or the text declares it, a label begins to exist in a partition
        with its first row there.
    progress : callable, optional
        Called with the `PartitionedLearner` after every partition.

    Returns
    -------
    BayesianOnlineClassifier
        The model, fitted.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.distributed import JoblibEngine, fit_stream
    >>> from labelweave.online import BayesianOnlineClassifier
    >>> data = load_emotions()
    >>> halves = [(data.X[half], data.Y[half]) for half in (slice(0, 300), slice(300, 593))]
    >>> model = fit_stream(BayesianOnlineClassifier(), halves, client=JoblibEngine(), rounds=2)
    >>> model.state_.n_rows
    593
    """
    learner = PartitionedLearner(
        partitions,
        model.settings(),
        as_engine(client),
        rounds=rounds,
        options=options,
        score=False,
        checkpoint=None if checkpoint is None else Path(checkpoint),
    )
    learner.run(progress)
    model.adopt(learner.state, learner.label_names)
    learner.remove_checkpoint()
    return model
