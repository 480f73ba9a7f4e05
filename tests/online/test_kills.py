"""Kill -9 at any moment: the posterior is that of a run nobody disturbed."""

import multiprocessing
import os
import time

import numpy as np
import pytest

from labelweave.data.row_text import RowStream
from labelweave.models.online import StreamLearner
from labelweave.models.online.stream import Checkpoint
from tests.online.make import same
from tests.online.test_stream import make_text

KILLS = 10
EVERY = 300


def learn(path, checkpoint):
    with RowStream(path) as rows:
        learner = StreamLearner(
            rows, checkpoint=checkpoint, checkpoint_every=EVERY, batch_lines=100
        )
        learner.run()
    return learner


@pytest.fixture
def processes():
    """Return what starts processes quickly: as copies of one that has imported everything."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no forkserver")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["labelweave.models.online.stream", "labelweave.data"])
    return context


@pytest.mark.slow
def test_killed_ten_times(tmp_path, processes):
    rows, checkpoint = tmp_path / "toy.svm", tmp_path / "toy.checkpoint"
    rows.write_text("".join(make_text(n=2000, L=30, D=200, seed=s) for s in range(2)) * 4)
    whole = learn(rows, None)
    rng = np.random.default_rng(int.from_bytes(os.urandom(4)))
    reached = 0
    for _ in range(KILLS):
        process = processes.Process(target=learn, args=(rows, checkpoint))
        before = version(checkpoint)
        process.start()
        while process.is_alive() and version(checkpoint) == before:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.02))  # anywhere from here: in a batch, in a write, in between
        process.kill()
        process.join()
        assert rows_in(checkpoint) >= reached  # nothing that was kept is lost
        reached = rows_in(checkpoint)
        assert reached < whole.n_rows, "the run was over before it was killed often enough"
    last = learn(rows, checkpoint)
    assert last.n_resumed == reached
    same(last.state, whole.state)
    assert last.label_names == whole.label_names
    assert last.quality.macro() == whole.quality.macro()


def version(checkpoint):
    return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0


def rows_in(checkpoint):
    return Checkpoint.load(checkpoint).facts["n_rows"] if checkpoint.exists() else 0
