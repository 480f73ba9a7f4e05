"""``labelweave convert`` and ``datasets``: folders of arrays, and the list of named data sets."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from labelweave.cli.inputs import load_dataset
from labelweave.cli.options import BadInputError, ReadOptions, ZeroBasedFlag, argument, reads


@reads("labels", "ignore", "max_memory", "max_features", "max_labels")
def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="Files of svmlight or XMC text, in order; or one data set of any other kind.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")],
    zero_based: ZeroBasedFlag = False,
    *,
    read_options: ReadOptions,
) -> None:
    """Write a data set into a folder of arrays, which other commands open without loading it.

    Text is converted a batch of rows at a time: neither it nor the folder has to fit into memory.

    \b
    labelweave convert part-*.svm.gz --out news
    labelweave fit news --method br --model news.skops
    """  # noqa: D301
    from labelweave.data import write_mapped
    from labelweave.data.load import is_row_text

    limits = read_options.limits()
    most: Any = {"max_features": limits.features, "max_labels": limits.labels}
    in_batches = all(is_row_text(file) for file in files)
    if in_batches and read_options.labels is None and read_options.ignore is None:
        with argument("FILES"):
            data = write_mapped(files, out, zero_based=zero_based, **most)
    elif len(files) > 1:
        raise BadInputError(
            "FILES: several files must be svmlight or XMC text, without --labels and --ignore"
        )
    else:
        # None: the reader of whole files looks for a feature 0.
        options = replace(read_options, zero_based=zero_based or None)
        whole = load_dataset(files[0], options, name="FILES")
        with argument("--out"):
            data = write_mapped(whole, out, **most)
    typer.echo(
        f"{out}: {data.n_rows:,} rows, {data.n_features:,} features, {data.n_labels:,} labels",
        err=True,
    )


def datasets() -> None:
    """List the named data sets.

    A data set is searched for in the folder LABELWEAVE_DATA, among those bundled with labelweave
    and in the cache; if it is in none of them, it is downloaded from OpenML.

    \b
    labelweave datasets
    """  # noqa: D301
    from labelweave.data import list_datasets
    from labelweave.report.console import make_console, show_datasets

    show_datasets(list_datasets(), make_console(sys.stdout))
