"""Fitting and prediction on the workers of a dask cluster.

The module needs ``pip install 'labelweave[dask]'``. `connect` names a cluster; `fit` fits a model
there.
"""

try:
    from labelweave.distributed.cluster import connect
    from labelweave.distributed.fitting import fit, fit_stream
    from labelweave.distributed.prediction import predict, predict_proba
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        f"labelweave.distributed needs {error.name}: pip install 'labelweave[dask]'",
        name=error.name,
    ) from error

__all__ = ["connect", "fit", "fit_stream", "predict", "predict_proba"]
