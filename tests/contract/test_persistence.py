"""A model that was kept answers as before."""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pandas as pd

from labelweave import persistence
from tests.contract.samples import is_probabilistic, sample, values_of

X, Y = sample()
LABELS = pd.DataFrame(Y, columns=["happy", "sad", "calm", "angry"])
LABELS["never"] = 0


def keep(model, case, folder):
    persistence.save_model(model, folder / "model.skops")
    return persistence.load_model(folder / "model.skops")


def pickled(model, case, folder):
    return pickle.loads(pickle.dumps(model))


def dumped(model, case, folder):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


WAYS = (keep, pickled, dumped)


def test_round_trip(case, estimator, tmp_path, thorough):
    model = estimator.fit(X, LABELS)
    for way in WAYS if thorough else WAYS[:2]:
        again = way(model, case, tmp_path)
        assert repr(again) == repr(model)
        assert list(again.label_names_in_) == list(LABELS)
        np.testing.assert_array_equal(again.classes_, model.classes_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(values_of(again, X), values_of(model, X))
        if is_probabilistic(model):
            np.testing.assert_array_equal(
                again.predict_joint(X).log_prob(LABELS), model.predict_joint(X).log_prob(LABELS)
            )
        again.fit(X, LABELS)  # and learns as before
        np.testing.assert_array_equal(values_of(again, X), values_of(model, X))


def test_one_dimensional_target(case, estimator, tmp_path, thorough):
    model = estimator.fit(X, np.array(["no", "yes"])[Y[:, 0]])
    for way in WAYS if thorough else WAYS[:1]:
        np.testing.assert_array_equal(way(model, case, tmp_path).predict(X), model.predict(X))


def test_an_unfitted_estimator(case, estimator, tmp_path):
    again = keep(estimator, case, tmp_path)
    assert repr(again) == repr(estimator)
    assert again.fit(X, Y).score(X, Y) == estimator.fit(X, Y).score(X, Y)
