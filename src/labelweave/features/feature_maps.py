"""What feature maps of the RBF kernel have in common (math.md, 1.6).

The squared length of a row of m features is about m, not 1: a feature then has a mean square near
one, like a standardised feature, and the penalties that suit those suit it too.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

from labelweave._common.arrays import Floats


class FeatureMap(Protocol):
    """Features φ of rows, with φ(x)ᵀφ(z) ≈ m exp(−γ|x − z|²) for m features.

    They are nested: but for their scale, the first of m features are the features of a smaller map.
    """

    @property
    def gamma(self) -> float:
        """The γ of the kernel."""

    @property
    def n_features(self) -> int:
        """Number of features m."""

    def first(self, n_features: int) -> Self:
        """Return the map to the first features."""

    def __call__(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the features of the rows of X, (n, m); a row's bits depend on no other row."""
