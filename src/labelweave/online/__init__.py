"""Bayesian online learning: one pass over a stream, a posterior over every weight."""

from labelweave.online.classifier import BayesianOnlineClassifier
from labelweave.online.merge import merge, merge_states
from labelweave.online.settings import OnlineSettings
from labelweave.online.smoothing import drifted, smooth
from labelweave.online.state import OnlineState
from labelweave.online.stream import StreamLearner
from labelweave.online.stream_history import StreamHistory

__all__ = [
    "BayesianOnlineClassifier",
    "OnlineSettings",
    "OnlineState",
    "StreamHistory",
    "StreamLearner",
    "drifted",
    "merge",
    "merge_states",
    "smooth",
]
