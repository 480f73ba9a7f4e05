"""Checkpoints that were damaged or forged are named, and those that cannot be written too."""

from __future__ import annotations

import io
import random
import re
import resource
import signal

import numpy as np
import pytest

from labelweave._common.files import DamagedFileError
from labelweave.data.row_text import RowStream
from labelweave.models.online import StreamLearner
from labelweave.models.online.stream import Checkpoint, CheckpointError
from tests.online.test_stream import LINES, make_text, stopped_run


@pytest.fixture
def run(tmp_path):
    """Return the rows and the checkpoint of a run that was stopped."""
    return stopped_run(tmp_path)


def resume(path, checkpoint):
    with RowStream(path) as rows:
        StreamLearner(rows, checkpoint=checkpoint, **LINES).resume()


def with_fact(name, value):
    return lambda facts, arrays: (facts | {name: value}, arrays)


def with_array(name, change):
    return lambda facts, arrays: (facts, arrays | {name: change(arrays[name])})


def without(name):
    return lambda facts, arrays: (
        {key: value for key, value in facts.items() if key != name},
        {key: value for key, value in arrays.items() if key != name},
    )


FACTS = ["settings", "head", "place", "passes_done", "labels", "n_rows", "n_bad", "complaint"]
ARRAYS = [
    *("panel_0", "current", "bias_mean", "bias_variance", "positives", "observed"),
    *("row_lengths", "calibration", "n_rows"),
]
REAL = ["bias_mean", "bias_variance", "row_lengths", "calibration"]


@pytest.mark.parametrize(
    "forgery",
    [
        *(without(name) for name in FACTS + ARRAYS),
        *(with_fact(name, None) for name in FACTS if name != "complaint"),
        *(with_fact(name, -1) for name in ("passes_done", "n_rows", "n_bad")),
        with_fact("place", {"offset": -5, "line": 1, "checksum": 0}),
        with_fact("place", {"nowhere": 1}),
        with_fact("labels", [1, 2]),
        with_fact("labels", ["a"] * 5),
        *(with_array(name, lambda a: a.astype(np.float16)) for name in ARRAYS),
        *(with_array(name, lambda a: a[..., None]) for name in ARRAYS),
        *(with_array(name, lambda a: a[:-1]) for name in ARRAYS[:-1]),
        *(with_array(name, lambda a: a * np.nan) for name in REAL),
        with_array("panel_0", lambda a: a * np.float32("nan")),
        with_array("panel_0", lambda a: -np.abs(a) - np.float32(1)),
        *(with_array(name, lambda a: a - 99) for name in ("current", "positives", "n_rows")),
        *(with_array(name, lambda a: -1 - a) for name in ("row_lengths", "calibration")),
        *(with_array("row_lengths", lambda a, n=n: a * [n, 1 - n]) for n in (0, 1)),
        with_array("observed", lambda a: a + 10**9),
        with_array("quality", lambda a: a + np.array([[10**9], [0], [0]])),
        with_array("quality", lambda a: a.astype(np.float64)),
        with_array("quality", lambda a: a[:2]),
    ],
)
def test_forged_checkpoints(run, forgery):
    path, checkpoint = run
    saved = Checkpoint.load(checkpoint)
    Checkpoint(*forgery(dict(saved.facts), dict(saved.arrays))).save(checkpoint)
    with pytest.raises(DamagedFileError, match=r"toy\.checkpoint is damaged: "):
        resume(path, checkpoint)


def test_damaged_bytes(run):
    """Whatever bytes are changed, the checkpoint is the one that was written or is refused."""
    _, checkpoint = run
    whole, saved = checkpoint.read_bytes(), Checkpoint.load(checkpoint)
    rng = random.Random(0)
    complaints = []
    for _ in range(300):
        content = bytearray(whole)
        at = rng.randrange(len(content))
        content[at : at + rng.randint(0, 4)] = rng.randbytes(rng.randint(0, 4))
        checkpoint.write_bytes(content)
        try:
            found = Checkpoint.load(checkpoint)
        except DamagedFileError as error:
            complaints.append(str(error))
            continue
        assert found.facts == saved.facts
        for name, array in saved.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array)
    assert len(complaints) > 200
    assert all(text.startswith(f"{checkpoint} is damaged: ") for text in complaints)


@pytest.mark.parametrize("field", [30, 32], ids=["extra", "comment"])
def test_entries_that_another_one_hides(run, field):
    """The directory says of each entry how long its notes are; zipfile skips as many bytes."""
    _, checkpoint = run
    content = bytearray(checkpoint.read_bytes())
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 1)
    hidden = content.index(b"PK\x01\x02", second + 1) - second
    content[first + field : first + field + 2] = hidden.to_bytes(2, "little")
    checkpoint.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"toy\.checkpoint is damaged: "):
        Checkpoint.load(checkpoint)


def test_a_checkpoint_that_does_not_fit_on_the_disk_is_named_and_leaves_nothing(tmp_path):
    checkpoint = tmp_path / "toy.checkpoint"
    learner = StreamLearner(
        RowStream(io.BytesIO(make_text().encode())), checkpoint=checkpoint, **LINES
    )
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(CheckpointError, match=f"{re.escape(str(checkpoint))} cannot be writ"):
            learner.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_noticed_before_the_first_row(tmp_path, monkeypatch):
    learner = StreamLearner(
        RowStream(io.BytesIO(make_text().encode())), checkpoint=tmp_path / "toy.checkpoint"
    )
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written to"):
        learner.run()
    assert learner.n_rows == 0
