"""Benchmarks: measured side by side with peers, in one run, at equal accuracy."""
