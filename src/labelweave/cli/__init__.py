"""The command line: parse arguments, call the library, display results."""

from labelweave.cli.app import app, main

__all__ = ["app", "main"]
