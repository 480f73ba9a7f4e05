"""Multi-label data sets: file readers, bundled and named data sets, synthetic data."""

from labelweave.data.dataset import Dataset
from labelweave.data.load import list_datasets, load
from labelweave.data.mapped import write_mapped
from labelweave.data.preprocessing import make_preprocessor

__all__ = [
    "Dataset",
    "list_datasets",
    "load",
    "make_preprocessor",
    "write_mapped",
]
