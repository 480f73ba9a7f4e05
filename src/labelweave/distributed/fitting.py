"""Models fitted on the workers of a cluster."""

from __future__ import annotations

from typing import Any, TypeVar

from distributed import Client
from numpy.typing import ArrayLike

from labelweave._common.engine import Engine
from labelweave.distributed.connection import as_engine
from labelweave.logistic import spread_over

__all__ = ["fit"]

Model = TypeVar("Model")


def fit(
    model: Model,
    X: Any,
    Y: Any,
    *,
    client: Client | Engine,
    sample_weight: ArrayLike | None = None,
) -> Model:
    """Fit a model, its logistic regressions in blocks on the workers of a cluster.

    Given Y, the conditionals of labels are independent of each other: those of binary relevance,
    chains, ensembles, trees and mixtures, and the fits that choose their penalties, orders and
    structures. The model is the same, to the last bit, as ``model.fit(X, Y)`` here. X and Y are
    sent to each worker once; what takes less than about a tenth of a second is done here.

    Parameters
    ----------
    model : estimator
        Any model of labelweave, or a pipeline that ends in one. Classifiers given as its
        `estimator` are fitted here: for these, use joblib's backend "dask".
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    client : distributed.Client or Engine
        See `connect`.
    sample_weight : (n,) array, optional

    Returns
    -------
    model : estimator
        The model itself, fitted.

    Raises
    ------
    LostWorkError
        If some labels could not be fitted on any worker; the message names them.

    Examples
    --------
    >>> from distributed import Client
    >>> from labelweave import BinaryRelevance
    >>> from labelweave.datasets import load
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
