"""The history of a stream, and how it is drawn."""

from __future__ import annotations

import io

import numpy as np
import pytest

from labelweave.data.row_text import RowStream
from labelweave.models.online import StreamHistory, StreamLearner
from labelweave.models.online.stream import PrequentialF1
from labelweave.plots import StreamDisplay


def text(n=200):
    rng = np.random.default_rng(0)
    rows = [(int(rng.integers(3)), rng.integers(1, 9, size=2)) for _ in range(n)]
    return "".join(f"{y} {y + 1}:1 {min(w) + 3}:1\n" for y, w in rows).encode()


def test_the_history_is_what_the_learner_said_after_each_batch():
    history, said = StreamHistory(), []

    def progress(learner):
        history(learner)
        said.append((learner.n_rows, learner.quality.micro(), learner.quality.macro()))

    StreamLearner(RowStream(io.BytesIO(text())), batch_lines=20).run(progress)
    columns = np.array(said).T
    np.testing.assert_array_equal(history.n_rows, columns[0])
    np.testing.assert_array_equal(history.micro, columns[1])
    np.testing.assert_array_equal(history.macro, columns[2])


class Learner:
    """Counts batches that are predicted at random."""

    def __init__(self):
        self.quality, self.n_rows, self.batches = PrequentialF1(), 0, []

    def step(self, rng):
        truth, predicted = rng.uniform(size=(2, 10, 3)) < 0.4
        self.batches.append((truth, predicted))
        self.quality.add(truth, predicted)
        self.n_rows += 10


def test_recent_f1_is_that_of_the_last_rows_alone():
    rng, learner, history = np.random.default_rng(0), Learner(), StreamHistory()
    for _ in range(8):
        learner.step(rng)
        history(learner)
    recent = history.recent_micro(25)  # three batches, rounded up
    assert np.isnan(recent[:3]).all()
    for k in range(3, 8):
        alone = PrequentialF1()
        for batch in learner.batches[k - 2 : k + 1]:
            alone.add(*batch)
        assert recent[k] == pytest.approx(alone.micro())


def test_the_curves_are_those_of_the_history():
    history = StreamHistory()
    StreamLearner(RowStream(io.BytesIO(text())), batch_lines=20).run(history)
    display = StreamDisplay.from_history(history, window=40)
    micro, macro, recent = display.ax_.lines
    np.testing.assert_array_equal(micro.get_xdata(), history.n_rows)
    np.testing.assert_array_equal(micro.get_ydata(), history.micro)
    np.testing.assert_array_equal(macro.get_ydata(), history.macro)
    np.testing.assert_array_equal(recent.get_ydata(), history.recent_micro(40))
    both = StreamDisplay.from_history({"_a": history, "$b$": history}, window=0)
    shown = [entry.get_text() for entry in both.ax_.get_legend().texts]
    assert shown[0] == " _a: micro F1"
    assert len(shown) == 4


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="histories is empty: pass it to"):
        StreamDisplay(StreamHistory())
    history = StreamHistory()
    history(Learner())
    with pytest.raises(ValueError, match="window must be a whole number of at least 0; got -1"):
        StreamDisplay(history, window=-1)
