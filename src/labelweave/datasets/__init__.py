"""Multi-label data sets: file readers, bundled and named data sets, synthetic data."""

from labelweave.datasets.arff import read_arff
from labelweave.datasets.builtin import load_emotions, load_yeast
from labelweave.datasets.catalogue import CatalogueEntry
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.limits import Limits
from labelweave.datasets.loading import list_datasets, load
from labelweave.datasets.mapped import read_mapped
from labelweave.datasets.mapped_writer import write_mapped
from labelweave.datasets.preprocessing import make_preprocessor
from labelweave.datasets.row_stream import RowStream
from labelweave.datasets.svmlight import read_svmlight
from labelweave.datasets.synthetic import SyntheticData, make_chain, make_mixture, make_tree
from labelweave.datasets.tables import read_csv, read_parquet, read_table
from labelweave.datasets.target_encoding import LabelFrequencyEncoder
from labelweave.datasets.xmc import read_xmc

__all__ = [
    "CatalogueEntry",
    "Dataset",
    "LabelFrequencyEncoder",
    "Limits",
    "RowStream",
    "SyntheticData",
    "list_datasets",
    "load",
    "load_emotions",
    "load_yeast",
    "make_chain",
    "make_mixture",
    "make_preprocessor",
    "make_tree",
    "read_arff",
    "read_csv",
    "read_mapped",
    "read_parquet",
    "read_svmlight",
    "read_table",
    "read_xmc",
    "write_mapped",
]
