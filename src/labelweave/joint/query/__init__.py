"""Probabilities of events, asked for in words: ``P(beach | urban=0, count >= 2)``."""

from labelweave.joint.query.events import Event, Query
from labelweave.joint.query.parsing import parse_query
from labelweave.joint.query.probability import probability

__all__ = ["Event", "Query", "parse_query", "probability"]
