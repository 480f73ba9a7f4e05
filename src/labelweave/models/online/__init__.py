"""Bayesian online learning: one pass over a stream, a posterior over every weight.

The estimator is `labelweave.BayesianOnlineClassifier`, with settings `labelweave.OnlineSettings`.
"""

from labelweave.models.online.evidence import drifted, merge, smooth
from labelweave.models.online.stream import StreamHistory, StreamLearner

__all__ = ["StreamHistory", "StreamLearner", "drifted", "merge", "smooth"]
