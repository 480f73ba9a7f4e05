"""The group of commands: help, version, how errors and interruptions end."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import labelweave
import labelweave.data
from labelweave._core import native
from labelweave.cli.app import app
from tests.cli.conftest import PRIOR

COMMANDS = ("compare", "fit", "predict", "ask", "evaluate", "datasets")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"labelweave {command}" in result.stdout.partition("\n")[2]


def test_help_lists_the_commands_and_version_tells_it(run):
    result = run("--help")
    assert all(f"  {command} " in result.stdout for command in COMMANDS)
    assert run("-h").stdout == result.stdout
    assert run("--version").stdout == f"labelweave {labelweave.__version__}\n"


def test_a_verbose_version_names_what_results_depend_on(run):
    for words in (("--version", "-v"), ("-v", "--version")):
        lines = run(*words).stdout.splitlines()
        assert lines[0] == f"labelweave {labelweave.__version__}"
        shown = dict(line.split(": ", 1) for line in lines[1:])
        assert shown["SIMD level"] == native.level()
        assert {"compiler", "BLAS", "cores", "numpy"} <= set(shown)


def test_the_catalogue(run, monkeypatch):
    monkeypatch.delenv("LABELWEAVE_DATA", raising=False)
    result = run("datasets")
    assert result.exit_code == 0
    (emotions,) = (line for line in result.stdout.splitlines() if line.startswith("emotions"))
    assert emotions.split()[:6] == ["emotions", "593", "72", "6", "1.868", "bundled"]


def test_no_command_and_unknown_command(run):
    assert "Usage" in run().output
    assert run("--debug").exit_code == 2
    result = run("compar")
    assert result.exit_code == 2
    assert "compar" in result.stderr


def raising(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


def test_an_interruption_is_quiet(run, table, monkeypatch):
    monkeypatch.setattr("labelweave.evaluation.compare", raising(KeyboardInterrupt()))
    result = run("compare", table, "--labels", "last:3", "-m", PRIOR)
    assert (result.exit_code, result.output) == (130, "")


def test_an_unexpected_error_is_one_line(run, table, monkeypatch):
    monkeypatch.setattr("labelweave.evaluation.compare", raising(RuntimeError("a bug")))
    result = run("compare", table, "--labels", "last:3", "-m", PRIOR)
    assert result.exit_code == 1
    assert result.stderr == "error: RuntimeError: a bug (use --debug for a traceback)\n"


@pytest.mark.parametrize("place", ["first", "last"])
def test_debug_lets_it_through(table, monkeypatch, place):
    monkeypatch.setattr("labelweave.evaluation.compare", raising(RuntimeError("a bug")))
    words = ["compare", str(table), "--labels", "last:3", "-m", PRIOR]
    words = ["--debug", *words] if place == "first" else [*words, "--debug"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, RuntimeError)


def test_out_of_memory(run, table, monkeypatch):
    monkeypatch.setattr("labelweave.evaluation.compare", raising(MemoryError()))
    result = run("compare", table, "--labels", "last:3", "-m", PRIOR)
    assert result.exit_code == 1
    assert "out of memory" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in other ways")
def test_a_reader_that_leaves_early_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    program = "from labelweave.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "datasets"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_other_broken_pipes_are_errors(run, table, monkeypatch):
    monkeypatch.setattr(sys.modules["labelweave.cli.app"], "_reader_left", lambda: False)
    monkeypatch.setattr("labelweave.evaluation.compare", raising(BrokenPipeError("a worker left")))
    result = run("compare", table, "--labels", "last:3", "-m", PRIOR)
    assert result.exit_code == 1
    assert "error: a worker left" in result.stderr


def test_help_does_not_load_the_libraries_it_does_not_need():
    program = (
        "import sys; import labelweave.cli; "
        "print(*{'sklearn', 'scipy', 'pandas', 'joblib', 'skops', 'dask'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_too_few_threads_are_no_interruption(run, monkeypatch, tmp_path):
    # OpenBLAS sends its own process SIGINT when it cannot start its threads.
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(labelweave.data, "load", interrupted)
    words = ("fit", "emotions", "--model", tmp_path / "model.skops")
    assert run(*words).exit_code == 130
    monkeypatch.setattr("threading.Thread.start", refused)
    result = run(*words)
    assert result.exit_code == 1
    assert "cannot start threads" in result.stderr
    assert "OPENBLAS_NUM_THREADS=1" in result.stderr
