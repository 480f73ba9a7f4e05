"""Where commands run and what they keep: the words typed, and what is said when it goes wrong."""

import sys
from contextlib import contextmanager

import pytest

import labelweave.distributed
from labelweave._common.keyed_lines import KeyedLines
from labelweave.distributed.cluster import ClusterLostError, WorkerMismatchError
from tests.cli.conftest import PRIOR

LOST = "the scheduler at tcp://host:1 is gone"


class Workers:
    """A cluster on which every call ends with an error."""

    n_workers = 1

    def __init__(self, error):
        self.client = self
        self.error = error

    def nthreads(self):
        return {"tcp://host:2": 3}

    def share(self, value):
        return value

    def run(self, calls):
        raise self.error


@pytest.fixture
def broken_cluster(monkeypatch):
    """Return a function that says with which error calls on any cluster end."""

    def breaks_with(error):
        @contextmanager
        def connect(cluster):
            yield Workers(error)

        monkeypatch.setattr(labelweave.distributed, "connect", connect)

    return breaks_with


@pytest.fixture(params=["compare", "reproduce"])
def command(request, table, tmp_path):
    """Return the words of a command with little to do."""
    if request.param == "compare":
        return ["compare", table, "--labels", "last:3", "-m", PRIOR, "-k", 2]
    words = ["reproduce", "p2cg", "--quick", "--only", "tables"]
    return [*words, "--results", tmp_path / "reproduction"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", 2, "--cluster", "local"], "--jobs: not with --cluster"),
        (["--cluster", "nowhere"], "--cluster: 'nowhere' is not a cluster: write local, local:4"),
        (["--cluster", "local:0"], "--cluster: local:0 must name a number of workers"),
    ],
)
def test_bad_words_name_the_option(run, command, words, message):
    result = run(*command, *words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_dask_is_asked_for_by_name(run, command, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("labelweave.distributed")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run(*command, "--cluster", "local")
    assert result.exit_code == 2
    assert "needs distributed: pip install 'labelweave[dask]'" in result.stderr


def test_other_versions_on_a_worker(run, command, broken_cluster):
    broken_cluster(WorkerMismatchError("the worker tcp://host:2 has numpy 1"))
    result = run(*command, "--cluster", "tcp://host:1")
    assert result.exit_code == 2
    warning, error = result.stderr.splitlines()
    assert "up to 3 threads" in warning
    assert error == "error: --cluster: the worker tcp://host:2 has numpy 1"


def test_a_lost_cluster_says_what_is_kept(run, command, broken_cluster, tmp_path):
    broken_cluster(ClusterLostError(LOST))
    result = run(*command, "--cluster", "tcp://host:1")
    assert result.exit_code == 1
    goes_on = "the same command continues where it was"
    told = goes_on if "reproduce" in command else "nothing is kept without --results FILE"
    assert f"error: {LOST}; {told}" in result.stderr
    if "compare" in command:
        file = tmp_path / "folds.jsonl"
        result = run(*command, "--cluster", "tcp://host:1", "--results", file)
        assert f"{LOST}; finished folds are kept in {file}: {goes_on}" in result.stderr


def test_an_interrupted_command_says_what_is_kept(run, command, broken_cluster, tmp_path):
    broken_cluster(KeyboardInterrupt())
    kept = ["--results", tmp_path / "folds.jsonl"] if "compare" in command else []
    result = run(*command, "--cluster", "tcp://host:1", *kept)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("interrupted; ")


def test_a_comparison_goes_on(run, table, tmp_path):
    file, output = tmp_path / "folds.jsonl", tmp_path / "result.json"
    words = ["compare", table, "--labels", "last:3", "-j", 1, "--results", file, "-o", output]
    assert run(*words, "-k", 3, "-m", PRIOR).exit_code == 0
    first, kept = output.read_text(), file.read_bytes()
    assert kept.count(b"\n") == 3
    assert run(*words, "-k", 3, "-m", PRIOR).exit_code == 0
    assert output.read_text() == first  # the very seconds
    assert file.read_bytes() == kept
    more = run(*words, "-k", 3, "-m", f"{PRIOR},{PRIOR}(strategy='stratified',random_state=0)")
    assert more.exit_code == 0
    assert file.read_bytes().startswith(kept)
    assert file.read_bytes().count(b"\n") == 6


@pytest.mark.parametrize("damage", ["busy", "damaged", "no folder"])
def test_results_that_cannot_be_used(run, table, tmp_path, damage):
    words = ["compare", table, "--labels", "last:3", "-j", 1, "-k", 2, "-m", PRIOR, "--results"]
    file = tmp_path / "folds.jsonl"
    if damage == "busy":
        with KeyedLines(file, dict, dict).writing():
            result = run(*words, file)
    elif damage == "damaged":
        file.write_text("{}\n")
        result = run(*words, file)
    else:
        result = run(*words, tmp_path / "nowhere" / "folds.jsonl")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --results: ")
