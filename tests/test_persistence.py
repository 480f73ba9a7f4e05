"""Model files: what comes back predicts the same, and foreign types are refused unbuilt."""

import json
import zipfile

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelweave import persistence
from labelweave.evaluation.significance import Tally

X, Y = make_multilabel_classification(40, 5, n_classes=3, random_state=0)


class Stranger(ClassifierMixin, BaseEstimator):
    """Neither labelweave's nor scikit-learn's."""


def test_a_pipeline_comes_back(tmp_path):
    model = make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())).fit(X, Y)
    persistence.save(model, tmp_path / "model.skops")
    again = persistence.load(str(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]


def test_an_existing_file_is_replaced(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("old")
    persistence.save(StandardScaler().fit(X), path)
    assert persistence.load(path).n_features_in_ == 5


def test_labelweaves_own_types_are_trusted(tmp_path):
    persistence.save(make_pipeline(Tally(1, 2, 3)), tmp_path / "model.skops")
    assert persistence.load(tmp_path / "model.skops").steps[0][1] == Tally(1, 2, 3)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_models_that_keep_sparse_data(tmp_path, form):
    model = KNeighborsClassifier(1, algorithm="brute").fit(form(X), Y)
    persistence.save(model, tmp_path / "model.skops")
    again = persistence.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(form(X)), Y)


def test_foreign_types_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(make_pipeline(StandardScaler(), Stranger()), path)
    with pytest.raises(ValueError, match=r"is refused: .*Stranger"):
        persistence.load(path)


def test_trust_can_be_given(tmp_path):
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    persistence.save(tree, tmp_path / "tree.skops")
    with pytest.raises(ValueError, match=r"sklearn.tree._tree.Tree; if you know"):
        persistence.load(tmp_path / "tree.skops")
    again = persistence.load(tmp_path / "tree.skops", trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(again.predict(X), Y)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("labelweave.persistence", "os"),
        ("labelweave.persistence", "save"),
        ("labelweave.persistence", "Path"),
        ("labelweave.no_such_module", "Class"),
        ("labelweave_evil", "Class"),
    ],
)
def test_what_labelweave_only_imports_is_not_trusted(tmp_path, module, name):
    good, forged = tmp_path / "good.skops", tmp_path / "forged.skops"
    skops.io.dump(Tally(1, 2, 3), good)
    with zipfile.ZipFile(good) as source:
        schema = json.loads(source.read("schema.json"))
    schema |= {"__module__": module, "__class__": name}
    with zipfile.ZipFile(forged, "w") as target:
        target.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ValueError, match="is refused"):
        persistence.load(forged)


def test_what_is_no_model_file(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("not a zip archive")
    with pytest.raises(ValueError, match="not a model file"):
        persistence.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "nothing")
    with pytest.raises(ValueError, match="not a model file"):
        persistence.load(path)
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "missing.skops")


def test_what_cannot_be_kept(tmp_path):
    stranger = Stranger()
    stranger.handle_ = (line for line in ())
    with pytest.raises(ValueError, match="cannot be kept"):
        persistence.save(stranger, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
