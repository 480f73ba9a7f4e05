"""Inference: strategies that turn a joint distribution into its most probable label vector."""

from labelweave.inference.auto import Auto
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.mean_field import MeanField
from labelweave.inference.random import Annealing, MonteCarlo
from labelweave.inference.search import Beam, BestFirst, Exhaustive, Greedy

__all__ = [
    "Annealing",
    "Auto",
    "Beam",
    "BestFirst",
    "Exhaustive",
    "Gibbs",
    "Greedy",
    "MeanField",
    "MonteCarlo",
]
