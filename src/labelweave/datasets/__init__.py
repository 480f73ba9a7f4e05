"""Multi-label data: readers, bundled sets, a catalogue of named sets, synthetic sets."""

from labelweave.datasets.arff import read_arff
from labelweave.datasets.builtin import load_emotions, load_yeast
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.entries import CatalogueEntry
from labelweave.datasets.limits import Limits
from labelweave.datasets.loading import catalogue, load
from labelweave.datasets.preparation import make_preparation
from labelweave.datasets.row_stream import RowStream
from labelweave.datasets.svmlight import read_svmlight
from labelweave.datasets.synthetic import Synthetic, make_chain, make_mixture, make_tree
from labelweave.datasets.tables import read_csv, read_parquet, read_table
from labelweave.datasets.target_encoding import LabelFrequencyEncoder
from labelweave.datasets.xmc import read_xmc

__all__ = [
    "CatalogueEntry",
    "Dataset",
    "LabelFrequencyEncoder",
    "Limits",
    "RowStream",
    "Synthetic",
    "catalogue",
    "load",
    "load_emotions",
    "load_yeast",
    "make_chain",
    "make_mixture",
    "make_preparation",
    "make_tree",
    "read_arff",
    "read_csv",
    "read_parquet",
    "read_svmlight",
    "read_table",
    "read_xmc",
]
