"""``labelweave stream --cluster``."""

import pytest
from typer.testing import CliRunner

from labelweave import BayesianOnlineClassifier, persistence
from labelweave._common.engine import JoblibEngine
from labelweave.cli.app import app
from labelweave.distributed import fit_stream
from labelweave.distributed.cluster import ClusterLostError, DaskEngine
from tests.distributed.test_streams import write
from tests.online.make import same


@pytest.fixture
def run(engine):
    """Return a function that runs the command on the workers of the tests."""
    address = engine.client.scheduler_info()["address"]

    def command(*words, cluster=address):
        given = [] if cluster is None else ["--cluster", cluster]
        return CliRunner().invoke(app, ["stream", *map(str, words), *given])

    return command


def test_the_model_is_that_of_the_library(run, tmp_path):
    paths = write(tmp_path, declared=True)
    out = tmp_path / "model.skops"
    result = run(*paths, "--out", out, "--rounds", 2, "--batch", 20)
    assert result.exit_code == 0, result.output
    assert "learned from 300 rows" in result.output
    assert "prequential F1" in result.output
    assert "60 features, 70 labels" in result.output
    model = persistence.load_model(out)
    expected = fit_stream(BayesianOnlineClassifier(), paths, client=JoblibEngine(1), rounds=2)
    same(model.state_, expected.state_)
    assert model.label_names_in_.tolist() == expected.label_names_in_.tolist()
    assert not (tmp_path / "model.skops.partitions").exists()


def test_a_broken_partition_is_named_and_the_same_command_goes_on(run, tmp_path):
    paths = write(tmp_path)
    good = paths[1].read_text()
    paths[1].write_text("1 x:y\n" + good)
    out = tmp_path / "model.skops"
    result = run(*paths, "--out", out)
    assert result.exit_code == 1
    assert "part-1.svm:1:" in result.output
    assert "kept in" in result.output
    again = run(*paths[:3], "--out", out)
    assert again.exit_code == 2
    assert "other partitions; use --restart" in again.output
    paths[1].write_text(good)
    result = run(*paths, "--out", out)
    assert result.exit_code == 0, result.output
    assert "240 rows had been learned before" in result.output


def test_a_scheduler_that_is_gone_is_no_fault_of_the_files(run, tmp_path, monkeypatch):
    def lose(self, calls):
        raise ClusterLostError("the scheduler at tcp://host:8786 is gone")

    monkeypatch.setattr(DaskEngine, "run", lose)
    result = run(*write(tmp_path), "--out", tmp_path / "model.skops")
    assert result.exit_code == 1
    assert "error: the scheduler at tcp://host:8786 is gone; finished partitions" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-"], "FILE: workers cannot read standard input"),
        (["a.svm", "--passes", 2], "--passes: not with --cluster"),
        (["a.svm", "--jobs", 2], "--jobs: not with --cluster"),
        (["a.svm", "a.svm"], "FILE: partitions names a file twice"),
        (["missing.svm"], "missing.svm: FileNotFoundError"),
    ],
)
def test_what_a_cluster_has_no_use_for(run, tmp_path, words, message):
    result = run(*words, "--out", tmp_path / "model.skops")
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("words", [["a.svm", "b.svm"], ["a.svm", "--rounds", 2]])
def test_what_only_a_cluster_has_use_for(run, tmp_path, words):
    result = run(*words, "--out", tmp_path / "model.skops", cluster=None)
    assert result.exit_code == 2
    assert "only with --cluster" in result.output
