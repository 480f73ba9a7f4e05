"""Model files: what comes back predicts the same, and foreign types are refused unbuilt."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from skops.io._audit import NODE_TYPE_MAPPING
from skops.io._protocol import PROTOCOL

from labelweave import persistence
from labelweave.evaluation.significance import TTest
from labelweave.inference import Greedy
from labelweave.models.binary_relevance import BinaryRelevance
from labelweave.models.chains import ClassifierChain
from labelweave.models.methods import make_method
from labelweave.models.online.classifier import BayesianOnlineClassifier
from labelweave.models.rivals.passive_aggressive import PassiveAggressive
from labelweave.models.tree_network import TreeNetwork

X, Y = make_multilabel_classification(40, 5, n_classes=3, random_state=0)


class Stranger(ClassifierMixin, BaseEstimator):
    """Neither labelweave's nor scikit-learn's."""


def test_a_pipeline_comes_back(tmp_path):
    model = make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())).fit(X, Y)
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(str(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]


def test_an_existing_file_is_replaced(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("old")
    persistence.save_model(StandardScaler().fit(X), path)
    assert persistence.load_model(path).n_features_in_ == 5


def test_labelweaves_own_types_are_trusted(tmp_path):
    persistence.save_model(make_pipeline(TTest(0.5, 2.0, 0.125, 3)), tmp_path / "model.skops")
    assert persistence.load_model(tmp_path / "model.skops").steps[0][1] == TTest(0.5, 2.0, 0.125, 3)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_models_that_keep_sparse_data(tmp_path, form):
    model = KNeighborsClassifier(1, algorithm="brute").fit(form(X), Y)
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(form(X)), Y)


def test_foreign_types_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(make_pipeline(StandardScaler(), Stranger()), path)
    with pytest.raises(ValueError, match=r"is rejected: .*Stranger"):
        persistence.load_model(path)


def test_trust_can_be_given_and_is_asked_for_when_saving(tmp_path):
    model = KNeighborsClassifier(1, algorithm="kd_tree").fit(X, Y)
    path = tmp_path / "neighbours.skops"
    types = [
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
    ]
    with pytest.warns(UserWarning, match=r"only be loaded by trusting the types .*KDTree"):
        persistence.save_model(model, path)
    with pytest.raises(ValueError, match=r"KDTree; if you know"):
        persistence.load_model(path)
    np.testing.assert_array_equal(persistence.load_model(path, trusted=types).predict(X), Y)


def columns():
    numbers = make_column_selector(dtype_include="number")
    rest = make_column_selector(dtype_exclude="number")
    return make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), rest))


FRAME = pd.DataFrame(X, columns=list("abcde")).assign(f=np.where(X[:, 0] > 0, "high", "low"))
COMMON = {
    "imputer": (make_pipeline(SimpleImputer(add_indicator=True), BinaryRelevance(C=1.0)), X),
    "column selectors": (make_pipeline(columns(), BinaryRelevance(C=1.0)), FRAME),
    "grid search": (GridSearchCV(BinaryRelevance(), {"C": [0.1, 1.0]}, cv=2), X),
    "grid search by F1": (
        GridSearchCV(BinaryRelevance(), {"C": [0.1, 1.0]}, cv=KFold(2), scoring="f1_micro"),
        X,
    ),
    "forest": (RandomForestClassifier(3, random_state=0), X),
    "chain of forests": (ClassifierChain(estimator=RandomForestClassifier(3), random_state=0), X),
    "boosting": (BinaryRelevance(estimator=GradientBoostingClassifier(n_estimators=3)), X),
    "calibrated": (BinaryRelevance(estimator=CalibratedClassifierCV(LinearSVC())), X),
    "bins": (make_pipeline(KBinsDiscretizer(3, strategy="uniform"), TreeNetwork(C=1.0)), X),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", COMMON)
def test_common_pipelines_come_back_without_a_word(tmp_path, name):
    model, features = COMMON[name]
    model.fit(features, Y)
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(features), model.predict(features))


@pytest.mark.parametrize(
    ("field", "node", "value"),
    [
        ("left_child", 0, 10**6),
        ("right_child", 0, -7),
        ("left_child", 0, 0),  # a circle
        ("feature", 0, 99),
        ("feature", 0, -3),
    ],
)
def test_forged_trees_are_refused(tmp_path, field, node, value):
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    state = model.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][field][node] = value
    model.tree_.__setstate__(state)
    persistence.save_model(make_pipeline(StandardScaler(), model), tmp_path / "model.skops")
    with pytest.raises(ValueError, match="is damaged: a decision tree has invalid node"):
        persistence.load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("booster", [False, True])
def test_trees_of_more_features_than_their_estimator_are_refused(tmp_path, booster):
    model = GradientBoostingClassifier(n_estimators=2) if booster else DecisionTreeClassifier()
    model.fit(X, Y[:, 0])
    model.n_features_in_ = 2
    persistence.save_model(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="differ in the number of features"):
        persistence.load_model(tmp_path / "model.skops")


def forge(path, change):
    """Rewrite a model file, its schema and other entries changed, all checksums right."""
    with zipfile.ZipFile(path) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    schema = json.loads(entries["schema.json"])
    schema = change(schema, entries) or schema
    with zipfile.ZipFile(path, "w") as target:
        for name, content in (entries | {"schema.json": json.dumps(schema)}).items():
            target.writestr(name, content)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("labelweave.persistence", "os"),
        ("labelweave.persistence", "save_model"),
        ("labelweave.persistence", "Path"),
        ("labelweave.no_such_module", "Class"),
        ("labelweave_evil", "Class"),
    ],
)
def test_what_labelweave_only_imports_is_not_trusted(tmp_path, module, name):
    path = tmp_path / "model.skops"
    skops.io.dump(TTest(0.5, 2.0, 0.125, 3), path)
    forge(path, lambda schema, _: schema | {"__module__": module, "__class__": name})
    with pytest.raises(ValueError, match="is rejected"):
        persistence.load_model(path)


def posing(kind, inner, name="labelweave.inference.search.Greedy", func="mode"):
    """Return a node of some kind that gives itself a name we trust."""
    module, _, class_name = name.rpartition(".")
    named = {"__module__": module, "__class__": class_name, "__loader__": kind}
    parts = {"func": func, "obj": inner, "args": inner, "kwds": inner, "namespace": inner}
    return named | {"content": parts, "attrs": inner, "__reduce__": {"args": inner}}


def test_a_method_that_poses_as_a_strategy_reaches_nothing(tmp_path):
    """With skops 0.11 such a chain of attributes led to the module's globals, hence to all code."""
    path = tmp_path / "model.skops"
    skops.io.dump(Greedy(), path)
    way = ["__call__", "__func__", "__globals__", "get"]

    def change(schema, _):
        for func in way:
            schema = posing("MethodNode", schema, func=func)
        return schema | {"protocol": PROTOCOL, "_skops_version": "0.11.0"}

    forge(path, change)
    with pytest.raises(ValueError, match=r"is damaged: it has labelweave.*Greedy as MethodNode"):
        persistence.load_model(path)


OWN_WAYS = {
    "labelweave.inference.search.Greedy": ["ObjectNode", "TupleNode"],
    "scipy.sparse._csr.csr_array": ["SparseMatrixNode"],
    "numpy.dtype": ["DTypeNode"],
    "sklearn.metrics._classification.f1_score": ["FunctionNode"],
    "sklearn.model_selection._split.KFold": ["ObjectNode"],
    "sklearn.tree._tree.Tree": ["TreeNode"],
}


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in NODE_TYPE_MAPPING}))
@pytest.mark.parametrize("name", OWN_WAYS)
def test_types_that_are_trusted_are_built_in_their_own_way_only(tmp_path, kind, name):
    if kind in OWN_WAYS[name]:
        pytest.skip("this is its own way")
    path = tmp_path / "model.skops"
    skops.io.dump(make_pipeline(Greedy()), path)

    def change(schema, _):
        steps = schema["content"]["content"]["steps"]["content"]
        steps[0]["content"][1] = posing(kind, steps[0]["content"][1], name)

    forge(path, change)
    with pytest.raises(ValueError, match=rf"is damaged: it has {name} as {kind}, which"):
        persistence.load_model(path)


def arrays_in(entries):
    return {name: np.load(io.BytesIO(entries[name])) for name in entries if name.endswith(".npy")}


def as_entry(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def with_nan(_, entries):
    for name, array in arrays_in(entries).items():
        if array.dtype.kind == "f":
            entries[name] = as_entry(np.full_like(array, np.nan))


@pytest.mark.parametrize(
    "model", [BinaryRelevance(C=1.0), BayesianOnlineClassifier(), PassiveAggressive(C=1.0)]
)
def test_weights_that_are_no_numbers_are_refused(tmp_path, model):
    path = tmp_path / "model.skops"
    model = clone(model).fit(X, Y)
    persistence.save_model(Pipeline([("same", FunctionTransformer()), ("model", model)]), path)
    forge(path, with_nan)
    with pytest.raises(ValueError, match=r"model\.skops is damaged: .*(NaN|not finite)"):
        persistence.load_model(path)


def other_classes(model):
    object.__setattr__(model._encoding, "classes", np.array([0, 1]))


def more_classes(model):
    model.classes_ = np.tile([0, 1], (7, 1))


def replaced(name, value):
    return lambda model: setattr(model, name, value)


def changed(part, **values):
    def change(model):
        for name, value in values.items():
            object.__setattr__(getattr(model, part), name, value)

    return change


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("br(C=1)", other_classes),
        ("br(C=1)", more_classes),
        ("br(C=1)", replaced("n_labels_", 2)),
        ("br(C=1)", changed("conditionals_", weights=np.zeros((2, 5)))),
        ("br(C=1)", changed("conditionals_", coupling=np.zeros((2, 3)))),
        (
            "br(C=1)",
            changed(
                "conditionals_",
                weights=np.zeros((2, 5)),
                intercept=np.zeros(2),
                coupling=np.zeros((2, 2)),
            ),
        ),
        ("cc(C=1)", replaced("order_", np.array([0, 1, 1]))),
        ("cc(C=1)", replaced("order_", np.array([0, 1]))),
        ("mlknn", changed("_neighbours", k=100)),
        ("mlknn", changed("_neighbours", k=3)),
        ("mlknn", changed("_neighbours", labels=np.full((40, 3), 7, dtype=np.int8))),
        ("mlknn", replaced("evidence_", np.zeros((2, 11)))),
        ("rakel(C=1)", lambda model: model.labelsets_.__setitem__(0, np.array([0, 1, 9]))),
        ("rakel(C=1)", lambda model: model.labelsets_.__setitem__(0, np.array([0, 1]))),
        ("lp(C=1)", replaced("vectors_", np.ones((9, 3), dtype=np.int8))),
        (
            "weave(estimator=sklearn.naive_bayes.GaussianNB())",
            lambda model: object.__setattr__(model.bases_[0], "varying", np.array([9])),
        ),
        ("weave(estimator=sklearn.naive_bayes.GaussianNB())", replaced("votes_", np.ones(1))),
    ],
)
def test_sizes_and_positions_that_do_not_fit_are_refused(tmp_path, method, change):
    model = make_method(method).fit(X, Y)
    persistence.save_model(model, tmp_path / "model.skops")
    persistence.load_model(tmp_path / "model.skops")
    change(model)
    persistence.save_model(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"model\.skops is damaged: "):
        persistence.load_model(tmp_path / "model.skops")


def test_claims_beyond_the_file_take_no_memory(tmp_path):
    path = tmp_path / "model.skops"
    persistence.save_model(BinaryRelevance(C=1.0).fit(X, Y), path)

    def change(_, entries):
        name = next(iter(arrays_in(entries)))
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
        )
        entries[name] = header.getvalue()

    forge(path, change)
    with pytest.raises(ValueError, match=r"is damaged: .*bytes by its header and of 0 in the file"):
        persistence.load_model(path)


def test_what_is_no_model_file(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("not a zip archive")
    with pytest.raises(ValueError, match=r"model\.skops is damaged: .*not a zip file"):
        persistence.load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "nothing")
    with pytest.raises(ValueError, match=r"model\.skops is damaged: .*schema"):
        persistence.load_model(path)
    with pytest.raises(FileNotFoundError):
        persistence.load_model(tmp_path / "missing.skops")


def test_what_cannot_be_kept(tmp_path):
    stranger = Stranger()
    stranger.handle_ = (line for line in ())
    with pytest.raises(ValueError, match="cannot be saved"):
        persistence.save_model(stranger, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
