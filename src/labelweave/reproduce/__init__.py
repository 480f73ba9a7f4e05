"""Reproduce the experiments of the papers, with a verdict on every claim."""
