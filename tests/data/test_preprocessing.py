"""Mixed columns become numbers by what the training rows say, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import TargetEncoder

from labelweave import Dataset, compare, persistence
from labelweave.data import make_preprocessor
from labelweave.data.preprocessing import LabelFrequencyEncoder, nominal_columns_of, preprocessor_of
from labelweave.models.methods import with_preprocessing

rng = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "size": np.where(rng.random(N) < 0.2, np.nan, rng.normal(5, 2, N)),
        "colour": pd.Categorical(rng.choice(["red", "green", "blue"], N)),
        "city": pd.Categorical([f"c{k}" for k in rng.integers(60, size=N)]),
        "weight": rng.normal(0, 3, N),
    }
)
FRAME.loc[5, "colour"] = None
LABELS = np.column_stack([FRAME["colour"] == "red", FRAME["weight"] > 0, rng.random(N) < 0.3]) * 1


def test_the_values_are_those_of_the_definition():
    prepared = pd.DataFrame(
        make_preprocessor(FRAME, max_levels=100).fit_transform(FRAME, LABELS),
        columns=make_preprocessor(FRAME, max_levels=100).fit(FRAME, LABELS).get_feature_names_out(),
    )
    filled = FRAME["size"].fillna(FRAME["size"].median())
    np.testing.assert_allclose(
        prepared["numeric__size"], (filled - filled.mean()) / filled.std(ddof=0)
    )
    gap = FRAME["size"].isna()
    assert (prepared["numeric__missingindicator_size"][gap] > 0).all()
    assert (prepared["numeric__missingindicator_size"][~gap] < 0).all()
    np.testing.assert_array_equal(prepared["one_hot__colour_red"], FRAME["colour"] == "red")
    rare = FRAME["city"].map(FRAME["city"].value_counts()) < 2
    np.testing.assert_array_equal(prepared["one_hot__city_infrequent_sklearn"], rare)


def test_levels_not_seen_and_gaps_not_seen():
    complete = FRAME[FRAME.notna().all(axis=1)]
    preparation = make_preprocessor(complete).fit(complete, LABELS[complete.index])
    strange = FRAME.iloc[:1].assign(colour="violet", city="nowhere", size=np.nan)
    row = pd.Series(preparation.transform(strange)[0], preparation.get_feature_names_out())
    assert np.isfinite(row).all()
    assert row.filter(like="colour").sum() == 0
    overall = LABELS[complete.index].mean(axis=0)
    np.testing.assert_allclose(row.filter(like="city"), overall)


@pytest.mark.parametrize("smoothing", [0.5, 10.0])
def test_frequencies_are_those_of_scikit_learns_target_encoder(smoothing):
    X = FRAME[["colour", "city"]].astype(object)
    ours = LabelFrequencyEncoder(smoothing=smoothing).fit(X, LABELS)
    test = pd.concat([X, pd.DataFrame({"colour": ["violet"], "city": [np.nan]})])
    encoded = ours.transform(test).reshape(len(test), 2, -1)
    for label in range(LABELS.shape[1]):
        theirs = TargetEncoder(target_type="continuous", smooth=smoothing).fit(X, LABELS[:, label])
        np.testing.assert_allclose(encoded[:, :, label], theirs.transform(test))
    names = ours.get_feature_names_out()
    assert list(names[:3]) == ["colour_0", "colour_1", "colour_2"]


def test_a_row_is_encoded_without_its_own_labels():
    X = FRAME[["city"]]
    changed = LABELS.copy()
    changed[7] = 1 - changed[7]
    before = LabelFrequencyEncoder().fit_transform(X, LABELS)
    after = LabelFrequencyEncoder().fit_transform(X, changed)
    np.testing.assert_array_equal(before[7], after[7])
    assert (before != after).any()


def test_identifiers_tell_nothing():
    X = pd.DataFrame({"id": [f"row{k}" for k in range(N)]})
    encoded = LabelFrequencyEncoder().fit_transform(X, LABELS)
    assert np.abs(encoded - LABELS.mean(axis=0)).max() < 0.1
    one_hot = make_preprocessor(X, max_levels=N).fit_transform(X, LABELS)
    assert one_hot.shape == (N, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"smoothing": -1.0}, "smoothing must be a number of at least 0"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LabelFrequencyEncoder(**parameters).fit(FRAME[["city"]], LABELS)


def test_complete_numbers_are_only_scaled():
    numbers = FRAME[["weight"]]
    model = with_preprocessing(LogisticRegression(), numbers)
    assert [name for name, _ in model.steps] == ["standardscaler", "logisticregression"]
    assert preprocessor_of(model) is None


def test_what_a_pipeline_takes_for_categories():
    model = with_preprocessing(LogisticRegression(), FRAME)
    assert nominal_columns_of(model) == ["colour", "city"]
    own = with_preprocessing(LogisticRegression(), FRAME)
    assert with_preprocessing(own, FRAME) is own
    unscaled = make_preprocessor(FRAME, scale=False).fit_transform(
        FRAME[["size", "weight", "colour", "city"]], LABELS
    )
    np.testing.assert_array_equal(unscaled[:, 1], FRAME["weight"])


def test_dates_of_raw_frames_are_refused_but_data_sets_take_them():
    dated = FRAME.assign(when=pd.Timestamp("1970-01-03"))
    with pytest.raises(ValueError, match="column 'when' of X holds dates"):
        make_preprocessor(dated)
    assert (Dataset(dated, LABELS).X["when"] == 2.0).all()


def test_preparation_is_learned_inside_each_fold():
    """What the test rows hold must not matter to the model that is fitted."""
    base = MultiOutputClassifier(LogisticRegression())
    fitted = with_preprocessing(base, FRAME).fit(FRAME[:80], LABELS[:80])
    assert list(fitted[0].named_transformers_["label_frequencies"].overall_) == pytest.approx(
        LABELS[:80].mean(axis=0)
    )
    result = compare({"br": base}, FRAME, LABELS, cv=2, metrics=["hamming_loss"])
    assert not result.failures()
    assert np.isfinite(result.scores("br", "hamming_loss")).all()


def test_prepared_models_are_saved_without_pickle(tmp_path):
    model = with_preprocessing(MultiOutputClassifier(LogisticRegression()), FRAME).fit(
        FRAME, LABELS
    )
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))


def test_two_columns_of_one_name():
    frame = pd.DataFrame([["x", 1], ["y", 2]], columns=["a", "a"])
    for use in (make_preprocessor, lambda X: Dataset(X, [[1], [0]])):
        with pytest.raises(ValueError, match="X has two columns named 'a'"):
            use(frame)
