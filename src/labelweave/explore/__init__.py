"""A page in the browser that shows what a model says of every row, and answers questions.

It needs the extra ``labelweave[explore]``.
"""

from labelweave.explore.server import explore

__all__ = [
    "explore",
]
