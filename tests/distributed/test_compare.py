"""Comparisons on a cluster: the JSON of this machine alone, whatever happens on the way."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from sklearn.exceptions import FitFailedWarning
from typer.testing import CliRunner

from labelweave import evaluation, load
from labelweave.cli.app import app
from tests.distributed import methods

EMOTIONS = ["compare", "emotions", "--metrics", "exact_match,cll_loss,auc_macro"]
LOUD = (
    "sklearn.multioutput.MultiOutputClassifier("
    "estimator=sklearn.linear_model.LogisticRegression(max_iter=1))"
)
BROKEN = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=-1)"


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result
    return result


def without_seconds(file):
    content = json.loads(file.read_text(encoding="utf-8"))
    for method in content["methods"]:
        for fold in method["folds"]:
            assert set(fold) >= {"fit_seconds", "predict_seconds"}
            fold |= {"fit_seconds": None, "predict_seconds": None}
    return content


def address_of(engine):
    return engine.client.scheduler_info()["address"]


def wait_for_lines(file, count, process):
    """Wait until a file has some lines; the limit is for what hangs."""
    for _ in range(6000):
        if file.exists() and file.read_bytes().count(b"\n") >= count:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    pytest.fail(f"{file} has no {count} lines")


def test_the_json_is_that_of_this_machine(engine, tmp_path):
    """Scores, warnings, failures with their tracebacks, settings and versions."""
    words = [*EMOTIONS, "-k", 3, "-m", f"br(C=1),{LOUD},{BROKEN}"]
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    local = run(*words, "-j", 1, "-o", here)
    remote = run(*words, "--cluster", address_of(engine), "-o", there)
    assert without_seconds(there) == without_seconds(here)
    content = without_seconds(there)
    assert all(
        "ConvergenceWarning" in fold["warnings"][0] for fold in content["methods"][1]["folds"]
    )
    assert all("in _attempt" in fold["traceback"] for fold in content["methods"][2]["folds"])
    assert (remote.exit_code, remote.stderr) == (local.exit_code, local.stderr)


@pytest.mark.slow
def test_a_killed_worker_costs_its_folds_only(own_engine, tmp_path):
    data = load("emotions")
    classifiers = {
        "br": evaluation.make_method("br(C=1)"),
        "fatal": methods.KillsItsWorkerOnce(str(tmp_path / "killed")),
    }
    file = tmp_path / "folds.jsonl"
    arguments = {"cv": 5, "metrics": ["exact_match"]}
    result = evaluation.compare(
        classifiers, data.X, data.Y, **arguments, engine=own_engine, results=file
    )
    assert not result.failures()
    assert len(file.read_bytes().splitlines()) == 10
    assert (tmp_path / "killed").exists()
    expected = evaluation.compare(classifiers, data.X, data.Y, **arguments)
    for method in classifiers:
        scores = result.scores(method, "exact_match"), expected.scores(method, "exact_match")
        assert scores[0].tolist() == scores[1].tolist()


@pytest.mark.slow
def test_what_no_worker_can_do_is_reported_by_name(own_engine, tmp_path):
    data = load("emotions")
    classifiers = {"prior": methods.Prior(), "fatal": methods.NoMemory()}
    with pytest.warns(FitFailedWarning, match="fatal failed on 2 of 2 folds: MemoryError: no room"):
        result = evaluation.compare(classifiers, data.X, data.Y, cv=2, engine=own_engine)
    assert {run.method for run in result.failures()} == {"fatal"}
    assert "raise MemoryError" in result.failures()[0].traceback


@contextmanager
def started(words, cwd):
    """Start a Python module as a process, killed at the end."""
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=cwd
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def waiting_comparison(tmp_path, cluster):
    """Return the words of a comparison that waits for a file after its first fold."""
    method = f"{methods.__name__}.FirstDoesNotWait(file='{tmp_path / 'first'}')"
    words = [*EMOTIONS, "-k", "4", "-m", method, "--cluster", cluster]
    return [*words, "--results", str(tmp_path / "folds.jsonl"), "-o", str(tmp_path / "there.json")]


def check_resumed(words, tmp_path):
    """Check that a comparison that has to go on does only what is missing."""
    file = tmp_path / "folds.jsonl"
    kept = file.read_bytes()
    assert kept.count(b"\n") == 1
    (tmp_path / "first.go").touch()
    assert run(*words).exit_code == 0
    assert file.read_bytes().startswith(kept)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len({line["key"] for line in lines}) == len(lines) == 4
    cluster = words.index("--cluster")
    here = ["-j", "1", "-o", str(tmp_path / "here.json")]
    assert run(*words[:cluster], *here).exit_code == 0
    assert without_seconds(tmp_path / "there.json") == without_seconds(tmp_path / "here.json")


@pytest.mark.slow
def test_a_killed_client_resumes(engine, tmp_path, request):
    words = waiting_comparison(tmp_path, address_of(engine))
    with started(["labelweave", *words], request.config.rootpath) as process:
        wait_for_lines(tmp_path / "folds.jsonl", 1, process)
        process.kill()
    check_resumed(words, tmp_path)


@pytest.mark.slow
def test_a_scheduler_that_is_gone_loses_nothing(tmp_path, request):
    root = request.config.rootpath
    place = tmp_path / "scheduler.json"
    words = waiting_comparison(tmp_path, str(place))
    scheduler = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = ["dask", "worker", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
    named = ["--scheduler-file", str(place)]
    with started([*scheduler, *named], root) as process:
        wait_for_lines(place, 1, process)
        with (
            started([*worker, *named], root),
            started(["labelweave", *words], root) as command,
        ):
            wait_for_lines(tmp_path / "folds.jsonl", 1, command)
            process.kill()
            message = command.communicate(timeout=300)[1].decode()
    assert command.returncode == 1
    assert message.startswith("error: the scheduler at tcp://127.0.0.1:")
    assert message.endswith(
        f"is gone; finished folds are kept in {tmp_path / 'folds.jsonl'}: the same command "
        "continues where it was\n"
    )
    assert message.count("\n") == 1
    words[words.index(str(place))] = "local:2"
    check_resumed(words, tmp_path)
