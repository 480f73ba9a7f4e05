"""``python -m labelweave`` is the command line."""

from labelweave.cli import main

if __name__ == "__main__":
    main()
