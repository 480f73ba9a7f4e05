"""The group of commands, their exit codes and error messages."""

from __future__ import annotations

import os
import select
import shlex
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from labelweave.cli.compare import compare, report
from labelweave.cli.data import convert, datasets
from labelweave.cli.explain import dependence, explain, explore
from labelweave.cli.fit import fit, tree
from labelweave.cli.options import CommandError
from labelweave.cli.outputs import COMMAND_LINE
from labelweave.cli.predict import ask, evaluate, predict
from labelweave.cli.reproduce import reproduce
from labelweave.cli.stream import stream


class _Group(TyperGroup):
    """Turn every outcome into an exit code, without a traceback unless it is requested."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # --debug belongs to the group but is also accepted after the command.
        if "--debug" in args:
            args = ["--debug", *(word for word in args if word != "--debug")]
        ctx.meta[COMMAND_LINE] = shlex.join(["labelweave", *args])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            with _short_warnings():
                result = super().invoke(ctx)
            sys.stdout.flush()  # inside the try, because the pipe may be closed
            return result
        except CommandError as error:
            raise _failure(str(error), error.exit_code) from error
        except KeyboardInterrupt as error:
            if _can_start_threads():
                raise typer.Exit(130) from error
            # OpenBLAS interrupts its own process if it cannot start its threads.
            raise _failure(
                "cannot start threads: raise the limit on processes or memory (ulimit -u, ulimit "
                "-v), or set OPENBLAS_NUM_THREADS=1"
            ) from error
        except BrokenPipeError as error:
            if _reader_left():
                raise typer.Exit(141) from error  # as after SIGPIPE, like other commands
            raise _failure(f"{error} (use --debug for a traceback)") from error
        except MemoryError as error:
            raise _failure(
                f"out of memory{f' ({error})' if str(error) else ''}: use fewer labels, features "
                "or rows, or fewer --jobs if there are several"
            ) from error
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if hasattr(error, "format_message"):  # a usage error, which typer shows
                raise
            name = type(error).__name__
            raise _failure(f"{name}: {error} (use --debug for a traceback)") from error


def _can_start_threads() -> bool:
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return False
    return True


def _reader_left() -> bool:
    """Whether the reader of standard output has left, as after ``| head``; if so, silence it."""
    if hasattr(select, "poll"):  # not on Windows, where pipes break in other ways
        output = select.poll()
        output.register(sys.stdout, 0)
        if not any(event & select.POLLERR for _, event in output.poll(0)):
            return False
    # Python flushes the output once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _failure(message: str, exit_code: int = 1) -> typer.Exit:
    """Print an error, and return the exception that ends the command."""
    print(f"error: {message}", file=sys.stderr)
    return typer.Exit(exit_code)


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Show a warning as one line, without its location in the source."""
    long_format = warnings.formatwarning
    warnings.formatwarning = lambda message, *_args, **_kwargs: f"warning: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = long_format


app = typer.Typer(
    name="labelweave",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(verbose: bool) -> None:
    from labelweave import __version__
    from labelweave.versions import show_versions

    typer.echo(f"labelweave {__version__}")
    if verbose:
        show_versions()


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            help="With --version: also show libraries, SIMD level, compiler, BLAS and threads.",
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Probabilistic multi-label classification.

    \b
    labelweave compare emotions --methods br,cc,pcc
    labelweave fit emotions --model emotions.skops
    labelweave predict emotions.skops songs.csv --output predicted.csv
    labelweave ask emotions.skops songs.csv "P(happy-pleased | not sad-lonely)"
    labelweave stream news.svm.gz --out news.skops

    Exit codes: 0 success, 1 failure, 2 invalid input or usage, 130 interrupted, 141 output closed.
    """  # noqa: D301
    if version:
        _show_version(verbose)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")


COMMANDS = (
    *(compare, report, fit, predict, ask, explain, evaluate, explore, tree),
    *(dependence, stream, convert, datasets, reproduce),
)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; the entry point of the ``labelweave`` command."""
    app(prog_name="labelweave")
