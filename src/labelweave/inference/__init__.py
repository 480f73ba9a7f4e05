"""Inference: strategies that turn a joint distribution into its most probable label vector."""

from labelweave.inference.auto import Auto
from labelweave.inference.exhaustive import Exhaustive
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.greedy import Greedy
from labelweave.inference.protocol import Inference
from labelweave.inference.result import Mode

__all__ = ["Auto", "Exhaustive", "Gibbs", "Greedy", "Inference", "Mode"]
