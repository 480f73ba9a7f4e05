"""``labelweave datasets``: what can be named instead of a file."""

from __future__ import annotations

import sys


def datasets() -> None:
    """List the data sets that are known by name.

    A set is looked for in the folder named by LABELWEAVE_DATA, among the sets that come with
    labelweave and in the cache, and is else downloaded from OpenML.

    \b
    labelweave datasets
    """  # noqa: D301
    from labelweave import report
    from labelweave.datasets import catalogue

    report.show_catalogue(catalogue(), report.make_console(sys.stdout))
