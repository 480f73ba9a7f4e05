"""A stream run ends with the same posterior however it is batched, stopped and resumed."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave import BayesianOnlineClassifier, OnlineSettings
from labelweave.data.row_text import RowStream
from labelweave.models.online import StreamLearner
from labelweave.models.online.state import OnlineState
from labelweave.models.online.stream import Checkpoint, LabelColumns, PrequentialF1
from tests.online.make import same

LINES = {"batch_lines": 7, "checkpoint_every": 20}
VARIANTS = [BayesianOnlineClassifier(), BayesianOnlineClassifier(coupled=False, forgetting=0.01)]


def make_text(n=120, L=5, D=12, seed=0, header=False):
    """Rows of text whose first feature tells the label; features and labels join one by one."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        known = 1 + L * i // n if not header else L
        label = int(rng.integers(known))
        more = [int(rng.integers(known))] if rng.uniform() < 0.3 else []
        columns = sorted({label, *rng.integers(D, size=3).tolist()})
        values = [f"{c + (not header)}:{rng.normal() + 3 * (c == label):.3f}" for c in columns]
        labels = ",".join(map(str, dict.fromkeys([label, *more]))) if rng.uniform() < 0.9 else ""
        lines.append(f"{labels} {' '.join(values)}\n")
    return (f"{n} {D} {L}\n" if header else "") + "".join(lines)


def learned(text, model=None, stream=None, **options):
    learner = StreamLearner(
        RowStream(io.BytesIO(text.encode()), **(stream or {})), model, **options
    )
    learner.run()
    return learner


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_batches_do_not_matter(variant, header):
    text = make_text(header=header)
    one_by_one = learned(text, variant, batch_lines=1)
    for batch_lines, n_threads in ((7, 2), (50, 1), (1000, 2)):
        other = learned(text, variant, batch_lines=batch_lines, n_threads=n_threads)
        same(one_by_one.state, other.state)
        assert other.label_names == one_by_one.label_names


def test_a_stream_is_the_same_as_the_rows_in_memory(tmp_path):
    from labelweave.data.row_text import read_xmc

    text = make_text(header=True)
    (tmp_path / "toy.xmc").write_text(text)
    data = read_xmc(tmp_path / "toy.xmc")
    state = OnlineState(data.n_features, data.n_labels)
    state.update(data.X, data.Y)
    learner = learned(text)
    same(learner.state, state)
    assert learner.label_names == data.label_names


def test_known_numbers_of_labels_are_there_from_the_start():
    learner = learned(make_text(), stream={"n_labels": 6})
    assert learner.label_names == tuple("012345")
    assert learner.state.observed.tolist() == [120] * 6


def test_unlabelled_rows_before_the_first_label_tell_nothing():
    text = "1:1\n 2:1\n" + make_text()
    for batch_lines in (1, 3, 1000):
        other = learned(text, batch_lines=batch_lines)
        same(other.state, learned(make_text()).state)
        assert other.n_rows == 122


class Stop(Exception):  # noqa: N818
    """A kill, as far as one process can act it."""


def run_with_stops(path, checkpoint, stops, model=None, stream=None, **options):
    """Start again after every stop; return the learner that came to the end, and its starts."""
    begun = []
    for stop in [*stops, None]:
        with RowStream(path, **(stream or {})) as rows:
            learner = StreamLearner(rows, model, **LINES, checkpoint=checkpoint, **options)
            seen = []

            def progress(learner, seen=seen, stop=stop):
                seen.append(learner.n_rows)
                if len(seen) == stop:
                    raise Stop

            try:
                learner.run(progress)
            except Stop:
                begun.append((learner.n_resumed, learner.n_rows))
                continue
            return learner, begun
    raise AssertionError


@settings(max_examples=10)
@given(
    st.lists(st.integers(1, 12), max_size=4),
    st.sampled_from(VARIANTS),
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_stopped_and_resumed(tmp_path_factory, stops, variant, passes, header):
    folder = tmp_path_factory.mktemp("run")
    path, checkpoint = folder / "toy.txt", folder / "toy.checkpoint"
    path.write_text(make_text(header=header))
    plain, _ = run_with_stops(path, None, [], variant, passes=passes)
    resumed, begun = run_with_stops(path, checkpoint, stops, variant, passes=passes)
    same(plain.state, resumed.state)
    assert resumed.label_names == plain.label_names
    assert (resumed.n_rows, resumed.n_bad) == (plain.n_rows, plain.n_bad)
    assert resumed.quality.macro() == plain.quality.macro()
    starts = [start for start, _ in begun] + [resumed.n_resumed]
    for (_, reached), start in zip(begun, starts[1:], strict=True):
        assert reached - start <= 20  # at most so many rows are learned again


def test_resuming_a_stream_that_is_read_only_once(tmp_path):
    text = make_text().encode()
    plain = StreamLearner(RowStream(io.BytesIO(text)), **LINES)
    plain.run()
    kept = {"checkpoint": tmp_path / "toy.checkpoint", **LINES}
    first = StreamLearner(RowStream(io.BytesIO(text)), **kept)
    with pytest.raises(Stop):
        first.run(stop_after_60)
    again = StreamLearner(RowStream(io.BytesIO(text)), **kept)
    again.run()
    assert again.n_resumed > 0
    same(again.state, plain.state)
    other = StreamLearner(RowStream(io.BytesIO(text.replace(b":", b":0", 1))), **kept)
    with pytest.raises(ValueError, match="lines differ"):
        other.run()


def stopped_run(tmp_path):
    path, checkpoint = tmp_path / "toy.svm", tmp_path / "toy.checkpoint"
    path.write_text(make_text())
    with RowStream(path) as rows:
        learner = StreamLearner(rows, checkpoint=checkpoint, **LINES)
        with pytest.raises(Stop):
            learner.run(stop_after_60)
    return path, checkpoint


def stop_after_60(learner):
    if learner.n_rows > 60:
        raise Stop


def test_another_file_or_other_settings_are_refused(tmp_path):
    path, checkpoint = stopped_run(tmp_path)
    with (
        RowStream(path) as rows,
        pytest.raises(ValueError, match=r"other settings: noise was 0\.25, is 0\.5"),
    ):
        StreamLearner(
            rows,
            BayesianOnlineClassifier(settings=OnlineSettings(noise=0.5)),
            checkpoint=checkpoint,
            **LINES,
        ).run()
    with RowStream(path, skip_bad=True) as rows, pytest.raises(ValueError, match="skip_bad was"):
        StreamLearner(rows, checkpoint=checkpoint, **LINES).run()
    other = tmp_path / "other.svm"
    other.write_text(make_text(seed=1))
    with RowStream(other) as rows, pytest.raises(ValueError, match=r"another input, .*toy\.svm"):
        StreamLearner(rows, checkpoint=checkpoint, **LINES).run()


def test_a_file_that_has_grown_is_gone_on_with(tmp_path):
    path, checkpoint = stopped_run(tmp_path)
    longer = make_text() + make_text(seed=2)
    path.write_text(longer)
    with RowStream(path) as rows:
        learner = StreamLearner(rows, checkpoint=checkpoint, **LINES)
        learner.run()
    assert learner.n_resumed > 0
    same(learner.state, learned(longer).state)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_a_damaged_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "toy.checkpoint"
    path.write_bytes(content)
    learner = StreamLearner(RowStream(io.BytesIO(b"0 1:1\n")), checkpoint=path)
    with pytest.raises(ValueError, match=r"toy\.checkpoint is damaged: "):
        learner.run()


def test_a_stop_while_writing_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    path = tmp_path / "toy.checkpoint"
    Checkpoint({"rows": 1}, {}).save(path)

    def fail(*_):
        raise Stop

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(Stop):
        Checkpoint({"rows": 2}, {}).save(path)
    monkeypatch.undo()
    assert Checkpoint.load(path).facts == {"rows": 1}
    Checkpoint({"rows": 3}, {}).save(path)
    assert Checkpoint.load(path).facts == {"rows": 3}


def test_bad_lines_are_counted_and_do_no_harm():
    lines = make_text().splitlines(keepends=True)
    broken = "".join([*lines[:50], "1 2:x\n", "0 0:1\n", *lines[50:]])
    with pytest.raises(ValueError, match=r"standard input:51:5: expected a finite number"):
        learned(broken)
    learner = learned(broken, stream={"skip_bad": True})
    assert learner.n_bad == 2
    assert learner.complaint.startswith("standard input:51:5")
    same(learner.state, learned("".join(lines)).state)


def test_prequential_figures_are_of_predictions_made_before():
    text = make_text(header=True)
    learner = learned(text, batch_lines=30)
    rows = RowStream(io.BytesIO(text.encode()))
    state, expected = OnlineState(12, 5), PrequentialF1()
    from labelweave.decision import ClassMassNormalization

    for number, batch in enumerate(rows.batches(30)):
        Y = LabelColumns(range(5)).read(batch.labels, batch.label_starts)[1]
        if number:
            rule = ClassMassNormalization(state.positives / state.observed)
            expected.add(Y, rule.label(state.probabilities(batch.X)))
        state.update(batch.X, Y)
    assert learner.quality.macro() == expected.macro()
    assert learner.quality.micro() == expected.micro()
    assert learner.quality.micro() > 0.5
    silent = learned(text, score=False)
    assert np.isnan(silent.quality.macro())
    same(silent.state, state)


@given(st.integers(0, 1000), st.integers(1, 5))
def test_prequential_f1_is_scikit_learns(seed, L):
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(seed)
    truth, given_labels = rng.integers(2, size=(2, 20, L))
    quality = PrequentialF1()
    for rows in np.split(np.arange(20), [3, 11]):
        quality.add(truth[rows], given_labels[rows])
    used = np.flatnonzero((truth | given_labels).any(axis=0))
    macro = np.mean([f1_score(truth[:, j], given_labels[:, j]) for j in used])
    assert quality.macro() == pytest.approx(macro)
    assert quality.micro() == pytest.approx(f1_score(truth.ravel(), given_labels.ravel()))


@given(st.lists(st.lists(st.integers(0, 6), max_size=3), max_size=8), st.integers(1, 4))
def test_label_columns_do_not_depend_on_batches(rows, size):
    def read(columns, chunk):
        starts = np.cumsum([0, *map(len, chunk)])
        return columns.read(np.array([x for row in chunk for x in row], dtype=np.int32), starts)

    whole, Y = read(LabelColumns(), rows)
    parts, pieces = LabelColumns(), []
    for i in range(0, len(rows), size):
        parts, piece = read(parts, rows[i : i + size])
        pieces.append(piece)
    assert parts.numbers == whole.numbers
    for begin, piece in zip(range(0, len(rows), size), pieces, strict=True):
        wide = np.pad(piece, ((0, 0), (0, Y.shape[1] - piece.shape[1])), constant_values=-1)
        np.testing.assert_array_equal(wide, Y[begin : begin + size])


def test_impossible_requests():
    stream = RowStream(io.BytesIO(b"0 1:1\n"))
    with pytest.raises(ValueError, match="passes must be 1"):
        StreamLearner(stream, passes=2)
    for option in ("batch_lines", "checkpoint_every", "passes"):
        with pytest.raises(ValueError, match=f"{option} must be a whole number of at least 1"):
            StreamLearner(stream, **{option: 0})


def test_a_stream_without_labels_or_rows():
    assert learned("").state.n_labels == 0
    learner = learned("1:1\n2:1\n")
    assert (learner.n_rows, learner.label_names, learner.state.n_features) == (2, (), 2)


def test_a_batch_that_is_refused_leaves_the_learner_as_it_was():
    text = b"0 1:1\n1 2:1\n0,2 1:1 3:1\n"
    model = BayesianOnlineClassifier(likelihood="multiclass")
    learner = StreamLearner(RowStream(io.BytesIO(text)), model, batch_lines=2)
    with pytest.raises(ValueError, match="exactly one label in every row"):
        learner.run()
    assert (learner.n_rows, learner.label_names) == (2, ("0", "1"))
    assert (learner.state.n_features, learner.state.n_labels) == (2, 2)
    same(learner.state, learned("0 1:1\n1 2:1\n", model=model).state)


def test_rows_are_checked_before_any_is_learned():
    state = OnlineState(3, 1)
    X = np.eye(3)
    X[2, 1] = np.nan
    for refuse in (state.update, state.admit):
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            refuse(X, np.ones((3, 1)))
    assert state.n_rows == 0
