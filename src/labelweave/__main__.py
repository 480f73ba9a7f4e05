"""Run the command line with ``python -m labelweave``."""

from labelweave.cli import main

if __name__ == "__main__":
    main()
