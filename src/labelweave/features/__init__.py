"""Features for linear models to learn nonlinear functions from.

`KernelFeatures` is the transformer (`kernel_features`); `nystroem` and `fourier` compute its
features, and `width_selection` chooses them by held-out likelihood, through the logistic engine.
"""

from labelweave.features.kernel_features import KernelFeatures

__all__ = ["KernelFeatures"]
