"""Inference: strategies that turn a joint distribution into its most probable label vector."""

from labelweave.inference.annealing import Annealing
from labelweave.inference.auto import Auto
from labelweave.inference.beam import Beam
from labelweave.inference.best_first import BestFirst
from labelweave.inference.epsilon_approximate import EpsilonApproximate
from labelweave.inference.exhaustive import Exhaustive
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.greedy import Greedy
from labelweave.inference.mean_field import MeanField
from labelweave.inference.monte_carlo import MonteCarlo
from labelweave.inference.protocol import Inference
from labelweave.inference.threshold_algorithm import ThresholdAlgorithm
from labelweave.joint import Mode, SearchedMode

__all__ = [
    "Annealing",
    "Auto",
    "Beam",
    "BestFirst",
    "EpsilonApproximate",
    "Exhaustive",
    "Gibbs",
    "Greedy",
    "Inference",
    "MeanField",
    "Mode",
    "MonteCarlo",
    "SearchedMode",
    "ThresholdAlgorithm",
]
