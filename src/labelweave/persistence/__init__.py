"""Save fitted models to files that cannot run code when they are loaded: skops, not pickle."""

from labelweave.persistence.model_files import load, save

__all__ = ["load", "save"]
