"""A page in the browser that shows what a model says of every row, and answers questions.

It needs the extra ``labelweave[explore]``.
"""

from labelweave.explore.serving import explore, serving
from labelweave.explore.session import Session

__all__ = ["Session", "explore", "serving"]
