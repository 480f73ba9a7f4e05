"""What is fuzzed. A target draws one case from a generator and raises if a promise is broken."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import clone

from labelweave import (
    BayesianOnlineClassifier,
    BinaryRelevance,
    ClassifierChain,
    PassiveAggressive,
    TreeMixture,
    persistence,
)
from labelweave._common.files import DamagedFileError
from labelweave.data.arff import read_arff
from labelweave.data.row_text import RowStream, read_svmlight, read_xmc
from labelweave.models.online import StreamLearner
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from labelweave.models.predictions import predict_labels, predict_marginals
from tests.fuzz.mutations import damaged, forged
from tests.joint.test_extremes import EXTREMES, joints

ROWS = np.random.default_rng(0).normal(size=(40, 4))
LABELS = (ROWS[:, :3] > 0).astype(np.int8)
MODELS = (
    BinaryRelevance(C=1.0),
    ClassifierChain(C=1.0, label_penalty=0.1),
    TreeMixture(C=1.0, label_penalty=0.1, n_components=2),
    BayesianOnlineClassifier(),
    PassiveAggressive(C=1.0, decision="fixed"),
)
TEXT = b"".join(b"%d,%d 1:0.5 %d:%d\n" % (i % 3, i % 2 + 3, 2 + i % 4, i) for i in range(30))
WORDS = (b"@data\n", b"@attribute a {0,1}\n", b"@relation 'r: -C 1'\n", b"{0 1}", b"3 2 2\n", b"1:")


def require(kept: bool, what: object) -> None:
    """Raise unless a promise was kept."""
    if not kept:
        raise AssertionError(what)


@functools.cache
def model_files(folder: Path) -> list[bytes]:
    """Return the files of some fitted models."""
    contents = []
    for model in MODELS:
        persistence.save_model(clone(model).fit(ROWS, LABELS), folder / "whole.skops")
        contents.append((folder / "whole.skops").read_bytes())
    return contents


def model_file(rng: random.Random, folder: Path) -> None:
    """Damage or forge a model file: it is named, or its model raises or answers without NaN."""
    path = folder / "model.skops"
    change = rng.choice([damaged, forged, forged])
    path.write_bytes(change(rng.choice(model_files(folder)), rng))
    try:
        model = persistence.load_model(path)
    except ValueError as error:
        require(str(error).startswith(f"{path} is "), error)
        return
    try:
        predict_labels(model, ROWS)
        probabilities = predict_marginals(model, ROWS)
    except Exception:
        return  # what is forged may contradict itself in ways that only show in use
    assert probabilities is None or not np.isnan(probabilities).any(), type(model)


def learner(folder: Path) -> StreamLearner:
    """Return a learner of a small text, with a checkpoint."""
    (folder / "rows.svm").write_bytes(TEXT)
    checkpoint = folder / "run.checkpoint"
    return StreamLearner(
        RowStream(folder / "rows.svm"), checkpoint=checkpoint, checkpoint_every=10, batch_lines=5
    )


@functools.cache
def checkpoint_file(folder: Path) -> bytes:
    """Return the last checkpoint of a run."""
    run = learner(folder)
    with run.stream:
        run.run()
    return run.checkpoint.read_bytes()


def checkpoint(rng: random.Random, folder: Path) -> None:
    """Damage or forge a checkpoint: it is named, or the run goes on from it to its end."""
    content = rng.choice([damaged, forged])(checkpoint_file(folder), rng)
    (folder / "run.checkpoint").write_bytes(content)
    run = learner(folder)
    with run.stream:
        try:
            run.resume()
        except DamagedFileError as error:
            require(str(error).startswith(f"{run.checkpoint} is damaged: "), error)
            return
        except ValueError as error:
            require("belongs to a run" in str(error), error)
            return
        with contextlib.suppress(ValueError):
            run.run()
        assert np.isfinite(run.state.mean).all()


def text(rng: random.Random, folder: Path) -> None:
    """Read any text: it has rows, or ValueError says why not."""
    parts = [rng.choice([TEXT, *WORDS, rng.randbytes(3)]) for _ in range(rng.randint(0, 9))]
    content = damaged(b"".join(parts), rng)
    path = folder / "rows.txt"
    path.write_bytes(content)
    for read in (read_arff, read_svmlight, read_xmc):
        with contextlib.suppress(ValueError):
            assert read(path).n_rows >= 0
    with contextlib.suppress(ValueError), RowStream(io.BytesIO(content), skip_bad=True) as rows:
        for batch in rows.batches(3):
            assert np.isfinite(batch.X.data).all()


def joint(rng: random.Random, folder: Path) -> None:
    """Ask joints with extreme scores: the answers are numbers."""
    for each in joints(rng.getrandbits(32)):
        answers = (each.marginals(), each.pairwise(), each.entropy(), each.mode().log_prob)
        assert not any(np.isnan(answer).any() for answer in answers), each


def online(rng: random.Random, folder: Path) -> None:
    """Learn from rows as extreme as numbers can be: the posterior consists of numbers."""
    draw = np.random.default_rng(rng.getrandbits(32))
    settings = ProbitModel.of(coupled=rng.random() < 0.5, forgetting=rng.choice([0.0, 0.1]))
    state = OnlineState(4, 5, model=settings)
    for _ in range(3):
        X = draw.choice(EXTREMES, size=(6, 4))
        state.update(X, draw.integers(-1, 2, size=(6, 5)), rng.choice([1, 2]))
        assert not np.isnan(state.probabilities(X)).any()
    arrays = state.to_arrays()
    assert all(np.isfinite(array).all() for array in arrays.values())


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    each.__name__: each for each in (model_file, checkpoint, text, joint, online)
}


def run_case(target: str, seed: int, folder: Path) -> None:
    """Run one case; the same seed is the same case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TARGETS[target](random.Random(f"{target} {seed}"), folder)
