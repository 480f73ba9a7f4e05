"""Multi-label data: readers, bundled sets, a catalogue of named sets, synthetic sets."""

from labelweave.datasets.arff import read_arff
from labelweave.datasets.builtin import load_emotions, load_yeast
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.entries import CatalogueEntry
from labelweave.datasets.loading import catalogue, load
from labelweave.datasets.row_stream import RowStream
from labelweave.datasets.svmlight import read_svmlight
from labelweave.datasets.synthetic import Synthetic, make_chain, make_mixture, make_tree
from labelweave.datasets.tables import read_csv, read_parquet
from labelweave.datasets.xmc import read_xmc

__all__ = [
    "CatalogueEntry",
    "Dataset",
    "RowStream",
    "Synthetic",
    "catalogue",
    "load",
    "load_emotions",
    "load_yeast",
    "make_chain",
    "make_mixture",
    "make_tree",
    "read_arff",
    "read_csv",
    "read_parquet",
    "read_svmlight",
    "read_xmc",
]
