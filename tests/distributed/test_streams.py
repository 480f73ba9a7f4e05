"""Streams in partitions: the same bits wherever they are learned, and however often a run stops."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pytest

from labelweave import BayesianOnlineClassifier, OnlineSettings
from labelweave._common.engine import JoblibEngine, LostWorkError
from labelweave.distributed import fit_stream
from labelweave.distributed.cluster import ClusterLostError
from labelweave.distributed.partitioned import PartitionedLearner
from labelweave.models.online.settings import ProbitModel
from tests.online.make import same, stream

X, Y = stream(n=300, n_features=60, n_labels=70, seed=3)
PARTS = [(X[i::5], Y[i::5]) for i in range(5)]


class Shuffled:
    """An engine whose results come in any order, and which may be gone after some of them."""

    n_workers = 3

    def __init__(self, seed=0, gone_after=None):
        self.seed, self.gone_after = seed, gone_after
        self.n_run = 0

    def share(self, value):
        return value

    def run(self, calls):
        order = list(range(len(calls)))
        random.Random(self.seed).shuffle(order)
        for number in order:
            if self.n_run == self.gone_after:
                raise ClusterLostError("the scheduler is gone")
            self.n_run += 1
            yield number, calls[number]()


def learn(engine, rounds=2, partitions=PARTS, **options):
    model = BayesianOnlineClassifier()
    return fit_stream(model, partitions, client=engine, rounds=rounds, **options).state_


def write(folder, declared=False, numbers=None):
    """Write the partitions as text, labels numbered as told, and return the paths."""
    numbers = range(Y.shape[1]) if numbers is None else numbers
    paths = []
    for k, (rows, labels) in enumerate(PARTS):
        lines = [f"{rows.shape[0]} {rows.shape[1]} {Y.shape[1]}\n"] if declared else []
        for row, given in zip(rows, labels, strict=True):
            named = ",".join(str(numbers[j]) for j in np.flatnonzero(given))
            first = 0 if declared else 1
            values = (
                f"{c + first}:{v!r}" for c, v in zip(row.indices, row.data.tolist(), strict=True)
            )
            lines.append(f"{named} {' '.join(values)}\n")
        paths.append(folder / f"part-{k}.svm")
        paths[-1].write_text("".join(lines))
    return paths


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_order_of_results_does_not_matter(rounds):
    expected = learn(JoblibEngine(1), rounds)
    assert expected.n_rows == 300
    for seed in range(3):
        same(learn(Shuffled(seed), rounds), expected)


def test_workers_give_the_same_bits(engine):
    same(learn(engine), learn(JoblibEngine(1)))


def test_text_and_arrays_give_the_same_bits(tmp_path):
    expected = learn(JoblibEngine(1), 2)
    model = BayesianOnlineClassifier()
    paths = write(tmp_path, declared=True)
    fit_stream(model, paths, client=Shuffled(), rounds=2)
    same(model.state_, expected)
    assert model.label_names_in_[:2].tolist() == ["l0", "l1"]


def test_known_numbers_of_labels(tmp_path):
    model = BayesianOnlineClassifier()
    paths = write(tmp_path)
    fit_stream(model, paths, client=Shuffled(), options={"n_labels": 70})
    same(model.state_, learn(JoblibEngine(1), 1))
    assert model.label_names_in_[0] == "0"


@pytest.mark.parametrize("rounds", [1, 2])
def test_labels_join_when_a_partition_meets_them(tmp_path, rounds):
    """Which numbers they have does not matter, only where they first appear."""
    paths = write(tmp_path)
    (tmp_path / "other").mkdir()
    turned = write(tmp_path / "other", numbers=np.random.default_rng(0).permutation(1000))
    one, other = (
        fit_stream(BayesianOnlineClassifier(), some, client=Shuffled(), rounds=rounds)
        for some in (paths, turned)
    )
    assert sorted(one.label_names_in_, key=int) == [str(n) for n in range(70) if Y[:, n].any()]
    assert one.state_.n_labels == other.state_.n_labels
    np.testing.assert_array_equal(np.sort(one.state_.positives), np.sort(other.state_.positives))


@pytest.mark.parametrize("gone_after", [0, 2, 5, 7, 9])
def test_a_run_that_lost_its_cluster_goes_on(tmp_path, gone_after):
    folder = tmp_path / "checkpoint"
    with pytest.raises(ClusterLostError):
        learn(Shuffled(gone_after=gone_after), checkpoint=folder)
    engine = Shuffled(seed=1)
    same(learn(engine, checkpoint=folder), learn(JoblibEngine(1)))
    assert engine.n_run == 10 - gone_after
    assert not folder.exists()


def test_the_checkpoint_knows_the_run(tmp_path):
    folder = tmp_path / "checkpoint"
    with pytest.raises(ClusterLostError):
        learn(Shuffled(gone_after=1), checkpoint=folder)
    with pytest.raises(ValueError, match="belongs to a run with other partitions"):
        learn(Shuffled(), partitions=PARTS[:4], checkpoint=folder)
    other = BayesianOnlineClassifier(settings=OnlineSettings(noise=1.0))
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        fit_stream(other, PARTS, client=Shuffled(), checkpoint=folder)
    path = next(folder.glob("round-1/partition-*"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged"):
        learn(Shuffled(), checkpoint=folder)


def test_a_partition_that_fails_is_named_and_the_others_are_kept(tmp_path):
    paths = write(tmp_path)
    good = paths[2].read_text()
    paths[2].write_text(good.replace("\n", "\n1 x:y\n", 1))
    folder = tmp_path / "checkpoint"
    with pytest.raises(LostWorkError, match=r"part-2\.svm: ValueError: .*part-2\.svm:2:"):
        learn(JoblibEngine(1), 1, paths, checkpoint=folder)
    paths[2].write_text(good)
    engine = Shuffled()
    learn(engine, 1, paths, checkpoint=folder)
    assert engine.n_run == 1


def test_quality_and_malformed_lines(tmp_path):
    paths = write(tmp_path)
    paths[3].write_text("nonsense\n" + paths[3].read_text())
    learner = PartitionedLearner(
        paths, ProbitModel(), Shuffled(), rounds=2, options={"skip_bad": True}, batch_rows=20
    )
    seen = []
    learner.run(lambda each: seen.append((each.round, each.n_done)))
    assert seen == [(r, n) for r in (1, 2) for n in range(1, 6)]
    assert (learner.n_rows, learner.n_bad) == (300, 1)
    assert "part-3.svm:1" in learner.complaint
    assert 0 < learner.quality.micro() < 1
    assert (
        learner.quality.counts[1].sum() < Y.sum()
    )  # the first batch of a partition is not predicted


@pytest.mark.parametrize(
    ("partitions", "options", "message"),
    [
        ([], {}, "partitions is empty"),
        (["a.svm", "./a.svm"], {}, "names a file twice"),
        (PARTS, {"rounds": 0}, "rounds must be"),
    ],
)
def test_bad_arguments(partitions, options, message):
    with pytest.raises(ValueError, match=message):
        fit_stream(BayesianOnlineClassifier(), partitions, client=Shuffled(), **options)


def test_what_is_forgotten_cannot_be_taken_back():
    with pytest.raises(ValueError, match="forgetting must be 0"):
        fit_stream(BayesianOnlineClassifier(forgetting=0.1), PARTS, client=Shuffled(), rounds=2)


def test_texts_of_two_kinds_are_refused(tmp_path):
    (tmp_path / "declared").mkdir()
    paths = [write(tmp_path)[0], write(tmp_path / "declared", declared=True)[1]]
    with pytest.raises(ValueError, match="must declare their sizes in the first line, or none"):
        learn(Shuffled(), 1, paths)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LostWorkError, match=r"missing\.svm: FileNotFoundError"):
        learn(JoblibEngine(1), 1, [tmp_path / "missing.svm"])


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_killed_worker_changes_no_bit(own_engine, rounds):
    victims = list(own_engine.client.run(os.getpid).values())

    def kill(_):
        if victims:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()

    found = learn(own_engine, rounds, progress=kill)
    assert not victims
    same(found, learn(JoblibEngine(1), rounds))
