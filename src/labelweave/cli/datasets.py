"""``labelweave datasets``: list the named data sets."""

from __future__ import annotations

import sys


def datasets() -> None:
    """List the named data sets.

    A data set is searched for in the folder LABELWEAVE_DATA, among those bundled with labelweave
    and in the cache; if it is in none of them, it is downloaded from OpenML.

    \b
    labelweave datasets
    """  # noqa: D301
    from labelweave.datasets import list_datasets
    from labelweave.report.console import make_console, show_datasets

    show_datasets(list_datasets(), make_console(sys.stdout))
