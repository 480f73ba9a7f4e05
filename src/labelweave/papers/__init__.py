"""Reproduce the experiments of the three papers, with a verdict on every claim."""

from labelweave.papers.reproduction import reproduce

__all__ = ["reproduce"]
