"""Multi-label data sets: named ones, files of many formats, and synthetic data."""

from labelweave.data.dataset import Dataset
from labelweave.data.load import list_datasets, load
from labelweave.data.mapped import write_mapped
from labelweave.data.preprocessing import make_preprocessor
from labelweave.data.synthetic import make_synthetic

__all__ = [
    "Dataset",
    "list_datasets",
    "load",
    "make_preprocessor",
    "make_synthetic",
    "write_mapped",
]
