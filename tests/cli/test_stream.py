"""The stream command: what it learns, keeps, resumes and refuses."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from labelweave import BayesianOnlineClassifier, load, persistence
from labelweave._common.files import locked
from labelweave.cli.app import app
from tests.common.test_files import Steps
from tests.online.make import same
from tests.online.test_stream import make_text


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text(make_text(header=True))
    return path


def test_features_too_large_to_compute_with_are_named(run, tmp_path):
    data = tmp_path / "data.svm"
    data.write_text("0 1:1\n1 1:2\n0 1:1 3:-1e200\n")
    result = run("stream", data, "--out", tmp_path / "m.skops", "--batch", 2)
    assert result.exit_code == 2
    assert "data.svm: feature 3 is beyond 1e+150 in row 3" in result.stderr


def test_a_model_that_predicts_and_is_measured(run, rows, tmp_path):
    model = tmp_path / "toy.skops"
    result = run("stream", rows, "--out", model, "--batch", 30)
    assert result.exit_code == 0, result.stderr
    assert "learned from 120 rows" in result.stderr
    assert "prequential F1 macro 0." in result.stderr
    assert "12 features, 5 labels" in result.stderr
    assert [file.name for file in tmp_path.iterdir() if "checkpoint" in file.name] == []
    data = load(rows)
    fitted = persistence.load_model(model)
    by_hand = BayesianOnlineClassifier().partial_fit(data.X, data.Y)
    same(fitted.state_, by_hand.state_)
    predicted = run("predict", model, rows)
    assert predicted.stdout.splitlines()[0] == "l0,l1,l2,l3,l4"
    measured = run("evaluate", model, rows, "--metrics", "f1_micro")
    assert measured.exit_code == 0, measured.stderr


def test_standard_input_and_bad_lines(rows, tmp_path):
    model = tmp_path / "toy.skops"
    words = ["stream", "-", "--out", str(model), "--method", "bomc-ind-sample(noise=0.1)"]
    text = make_text() + "oops\n"
    stopped = CliRunner().invoke(app, words, input=text)
    assert stopped.exit_code == 2
    assert "standard input:121:1: expected a label index" in stopped.stderr
    result = CliRunner().invoke(app, [*words, "--skip-bad", "--restart"], input=text)
    assert result.exit_code == 0, result.stderr
    assert "1 bad lines" in result.stderr
    assert "first bad line: standard input:121:1: expected" in result.stderr
    fitted = persistence.load_model(model)
    assert (fitted.coupled, fitted.settings.noise) == (False, 0.1)
    assert sorted(fitted.label_names_in_) == list("01234")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-", "--passes", 2], "--passes: standard input can be read only once"),
        (["nothing.svm"], "FILE: No such file or directory: nothing.svm"),
        (["ROWS", "--method", "br"], "--method: br cannot learn from a stream; use bomc-cmn"),
        (["ROWS", "--method", "bomc-cmn(noise=-1)"], "noise must be a number"),
        (["EMPTY"], "has no labels to learn"),
        (["songs.csv"], "FILE: songs.csv: expected svmlight or XMC text, not a .csv file"),
        (["songs.ARFF.gz"], "songs.ARFF.gz: expected svmlight or XMC text, not a .arff file"),
        (["FOLDER"], "expected svmlight or XMC text, not a folder"),
    ],
)
def test_refusals(run, rows, tmp_path, words, message):
    (tmp_path / "empty.svm").write_text("")
    names = {"ROWS": rows, "EMPTY": tmp_path / "empty.svm", "FOLDER": tmp_path}
    words = [names.get(word, word) for word in words]
    result = run("stream", *words, "--out", tmp_path / "toy.skops")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_checkpoint_of_other_settings_needs_a_restart(run, rows, tmp_path):
    model = tmp_path / "toy.skops"
    broken = tmp_path / "broken.xmc"
    broken.write_text(rows.read_text().replace("\n", "\nx ", 100).replace("\nx ", "\n", 99))
    words = ["stream", broken, "--out", model, "--checkpoint-every", 20]
    assert run(*words).exit_code == 2  # stops at the bad line, behind some checkpoints
    assert (tmp_path / "toy.skops.checkpoint").exists()
    other = run(*words, "--skip-bad")
    assert other.exit_code == 2
    assert "skip_bad was False, is True" in other.stderr
    assert "--restart" in other.stderr
    again = run(*words, "--skip-bad", "--restart")
    assert again.exit_code == 0, again.stderr


def test_a_checkpoint_that_cannot_be_written_is_not_the_inputs_fault(
    run, rows, tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = run("stream", rows, "--out", tmp_path / "toy.skops", "--checkpoint-every", 20)
    assert result.exit_code == 1
    assert "toy.skops.checkpoint cannot be written: No space left on device" in result.stderr
    assert "FILE" not in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["toy.xmc"]


def test_a_damaged_checkpoint_is_named(run, rows, tmp_path):
    (tmp_path / "toy.skops.checkpoint").write_bytes(b"PK")
    result = run("stream", rows, "--out", tmp_path / "toy.skops")
    assert result.exit_code == 2
    assert "toy.skops.checkpoint is damaged: " in result.stderr
    assert "use --restart to start from scratch" in result.stderr
    again = run("stream", rows, "--out", tmp_path / "toy.skops", "--restart")
    assert again.exit_code == 0, again.stderr


def test_one_process_at_a_time(run, rows, tmp_path):
    model = tmp_path / "toy.skops"
    (tmp_path / "toy.skops.checkpoint").write_text("of the other process")
    with locked(tmp_path / "toy.skops.lock"):
        result = run("stream", rows, "--out", model, "--restart")
        assert result.exit_code == 2
        assert "another process is learning" in result.stderr
        assert (tmp_path / "toy.skops.checkpoint").read_text() == "of the other process"
        other = run("stream", rows, "--out", tmp_path / "other.skops")
        assert other.exit_code == 0, other.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_checkpoint_goes_only_when_the_model_is_on_the_disk(run, rows, tmp_path, monkeypatch):
    steps = Steps(monkeypatch)
    result = run("stream", rows, "--out", tmp_path / "toy.skops", "--checkpoint-every", 100)
    assert result.exit_code == 0, result.stderr
    model = [("fsync", "toy.skops.part"), ("replace", "toy.skops.part")]
    folder = ("fsync", tmp_path.name)
    gone = [("unlink", "toy.skops.checkpoint"), folder, ("unlink", "toy.skops.lock")]
    assert steps.taken[-6:] == [*model, folder, *gone]


def test_the_four_variants_take_part_in_a_comparison(run, rows, tmp_path):
    keys = "bomc-cmn,bomc-sample,bomc-ind-cmn,bomc-ind-sample"
    result = run("compare", rows, "--methods", keys, "--folds", 2, "--metrics", "f1_macro", "-j", 1)
    assert result.exit_code == 0, result.stderr
    model = tmp_path / "toy.skops"
    fitted = run("fit", rows, "--method", "bomc-sample(samples=3)", "--model", model)
    assert fitted.exit_code == 0, fitted.stderr
    assert run("evaluate", model, rows, "--metrics", "f1_macro").exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_commands(tmp_path):
    """Kill -9 the command itself, whatever it does; tests/online kills the learner more often."""
    rows = tmp_path / "toy.svm"
    rows.write_text("".join(make_text(n=3000, L=40, D=300, seed=s) for s in range(16)))

    def start(model):
        words = [sys.executable, "-m", "labelweave", "stream", rows, "--out", model]
        words += ["--checkpoint-every", "500", "--batch", "50"]
        return subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE)

    def finish(process):
        complaint = process.communicate()[1].decode()
        assert process.returncode == 0, complaint
        return complaint

    finish(start(tmp_path / "whole.skops"))
    rng = np.random.default_rng(int.from_bytes(os.urandom(4)))
    model = tmp_path / "killed.skops"
    checkpoint = tmp_path / "killed.skops.checkpoint"
    for kill in range(3):
        process = start(model)
        before = checkpoint.stat().st_mtime_ns if kill else 0
        # Once it has come a little further, whatever moment comes next.
        while process.poll() is None and not _changed(checkpoint, before):
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.15))
        assert process.poll() is None, process.communicate()[1].decode()
        process.kill()
        process.communicate()
    assert "resumed after row" in finish(start(model))
    whole, killed = (
        persistence.load_model(tmp_path / f"{name}.skops") for name in ("whole", "killed")
    )
    same(whole.state_, killed.state_)
    assert list(whole.label_names_in_) == list(killed.label_names_in_)
    assert not checkpoint.exists()


def _changed(path, before):
    return path.exists() and path.stat().st_mtime_ns > before
