"""The command line: parse arguments, call the library, display results."""

from labelweave.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the entry point of the ``labelweave`` command."""
    app(prog_name="labelweave")
