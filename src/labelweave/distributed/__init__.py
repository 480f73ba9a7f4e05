"""The same work on the workers of a dask cluster.

Needs ``pip install 'labelweave[dask]'``. `connect` names a cluster; `DaskEngine` runs calls on it;
`fit` fits the labels of a model there.
Another engine is a class with the three members of `Engine`: it can be passed wherever a dask
client can.
"""

from labelweave._common.engine import Call, Engine, JoblibEngine, Lost, LostWorkError

try:
    from labelweave.distributed.connection import as_engine, connect
    from labelweave.distributed.dask_engine import (
        ClusterLostError,
        DaskEngine,
        WorkerMismatchError,
    )
    from labelweave.distributed.fitting import fit
    from labelweave.distributed.partition_files import OtherRunError
    from labelweave.distributed.partitioned_learner import PartitionedLearner
    from labelweave.distributed.prediction import predict, predict_proba, thresholds
    from labelweave.distributed.streams import fit_stream
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        f"labelweave.distributed needs {error.name}: pip install 'labelweave[dask]'",
        name=error.name,
    ) from error

__all__ = [
    "Call",
    "ClusterLostError",
    "DaskEngine",
    "Engine",
    "JoblibEngine",
    "Lost",
    "LostWorkError",
    "OtherRunError",
    "PartitionedLearner",
    "WorkerMismatchError",
    "as_engine",
    "connect",
    "fit_stream",
    "predict",
    "predict_proba",
    "thresholds",
    "fit",
]
