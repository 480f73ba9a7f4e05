"""Decisions: the label vector to output, given a joint distribution and a loss."""

from labelweave.decision.losses import Decision, HammingLoss, Loss, SubsetLoss
from labelweave.decision.resolve import resolve_decision
from labelweave.decision.vote import Vote

__all__ = ["Decision", "HammingLoss", "Loss", "SubsetLoss", "Vote", "resolve_decision"]
