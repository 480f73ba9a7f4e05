"""Bayesian online learning: one pass over a stream, a posterior over every weight."""

from labelweave.models.online.merge import drifted, merge, smooth
from labelweave.models.online.settings import OnlineSettings
from labelweave.models.online.stream import StreamHistory, StreamLearner

__all__ = [
    "OnlineSettings",
    "StreamHistory",
    "StreamLearner",
    "drifted",
    "merge",
    "smooth",
]
