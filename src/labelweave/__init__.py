"""labelweave: probabilistic multi-label classification."""

from labelweave import _core as _core

__version__ = "0.1.0"
