"""Models, and streams in partitions, fitted by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client
from numpy.typing import ArrayLike

from labelweave._common.engine import Engine
from labelweave.distributed.cluster import as_engine
from labelweave.distributed.partitioned import PartitionedLearner
from labelweave.logistic.spreading import spread_over
from labelweave.models.online.classifier import BayesianOnlineClassifier

Model = TypeVar("Model")


def fit(
    model: Model,
    X: Any,
    Y: Any,
    *,
    client: Client | Engine,
    sample_weight: ArrayLike | None = None,
) -> Model:
    """Fit a model on a cluster, whose workers fit blocks of its logistic regressions.

    Workers fit the conditionals of different labels separately, and also the regressions that choose
    penalties, orders and structures. The model equals the result of ``model.fit(X, Y)`` to the last
    bit. X and Y are sent to each worker once; work of less than about a tenth of a second is done
    in this process.

    Parameters
    ----------
    model : estimator
        Any model of labelweave, or a pipeline that ends in one. Classifiers given as its
        `estimator` are fitted in this process: use joblib's backend "dask" for them.
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    client : distributed.Client or Engine
        See `connect`.
    sample_weight : (n,) array, optional

    Returns
    -------
    model : estimator
        The model itself, fitted. A `LostWorkError` names the labels that could not be fitted on any
        worker.

    Examples
    --------
    >>> from distributed import Client
    >>> from labelweave import BinaryRelevance, load
    >>> from labelweave.distributed import fit
    >>> data = load("emotions")
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = fit(BinaryRelevance(C=1.0), data.X, data.Y, client=client)
    >>> model.predict(data.X[:2]).shape
    (2, 6)
    """
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    estimator: Any = model
    with spread_over(as_engine(client)):
        estimator.fit(X, Y, **weights)
    return model


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
    """Train a Bayesian online classifier on partitions of the rows, each on a worker.

    Every partition is learned from the same prior, and the evidence of the partitions is added up
    in their order: the result is the same to the last bit for any number of workers, even if some
    of them die. In a further round each partition is learned again from the posterior of all the
    others, and the posterior moves by the mean of the partitions' corrections.

    Parameters
    ----------
    model : BayesianOnlineClassifier
        The classifier to train; its `passes` are ignored.
    partitions : sequence of path, pair of arrays or Future
        Files that the workers can open, as `RowStream` reads them; or (X, Y) in memory; or futures
        of such pairs. A worker holds one partition in memory at a time.
    client : distributed.Client or Engine
        See `connect`.
    rounds : int, default=1
        How often to learn from every partition.
    checkpoint : path, optional
        A folder for the evidence of partitions, from which the same call resumes after a failure.
        It is removed at the end.
    options : dict, optional
        How to read files: `zero_based`, `n_features`, `n_labels` and `skip_bad` of `RowStream`.
        Unless `n_labels` is given or the text declares it, a label enters a partition with the
        first row that has it there.
    progress : callable, optional
        Called with the `PartitionedLearner` after every partition.

    Returns
    -------
    BayesianOnlineClassifier
        The model, fitted.

    Examples
    --------
    >>> from labelweave import BayesianOnlineClassifier, load
    >>> from labelweave._common.engine import JoblibEngine
    >>> from labelweave.distributed import fit_stream
    >>> data = load("emotions")
    >>> halves = [(data.X[half], data.Y[half]) for half in (slice(0, 300), slice(300, 593))]
    >>> model = fit_stream(BayesianOnlineClassifier(), halves, client=JoblibEngine(), rounds=2)
    >>> model.state_.n_rows
    593
    """
    learner = PartitionedLearner(
        partitions,
        model.probit_model(),
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
