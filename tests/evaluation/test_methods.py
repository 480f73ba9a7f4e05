"""Specifications of methods: read as data, built only from known classes, told apart by errors."""

from keyword import iskeyword
from string import ascii_letters, digits

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from labelweave import KernelFeatures, MLkNN, TreeMixture
from labelweave._common.specifications import (
    Specification,
    parse_specification,
    split_specifications,
)
from labelweave.models.methods import METHODS, make_method, make_methods

LETTERS = ascii_letters + "_"
names = st.builds(
    str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + digits, max_size=6)
).filter(lambda name: not iskeyword(name))
literals = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab ,()[]'\"=", max_size=6),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text("ab"), values, max_size=2)
    ),
    max_leaves=4,
)
calls = st.recursive(
    st.builds(Specification, names, st.dictionaries(names, literals, max_size=3)),
    lambda inner: st.builds(
        Specification,
        names,
        st.dictionaries(names, literals | inner | st.lists(inner, max_size=2), max_size=3),
    ),
    max_leaves=3,
)


@given(calls)
def test_what_is_written_is_read_back(call):
    assert parse_specification(str(call)) == call


@settings(max_examples=15)
@given(st.lists(calls, max_size=4))
def test_lists_are_split_at_the_outer_commas(several):
    assert split_specifications(", ".join(map(str, several))) == [str(call) for call in several]


def test_forms_of_names():
    assert parse_specification(" bomc-cmn ( ) ") == Specification("bomc-cmn")
    assert parse_specification("a.b.C(x=-1)") == Specification("a.b.C", {"x": -1})
    assert parse_specification("pcc(estimator=a.B(c=1))") == Specification(
        "pcc", {"estimator": Specification("a.B", {"c": 1})}
    )
    assert split_specifications(" br ,, cc,") == ["br", "cc"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pcc(C=1", r"'\)' is missing|\) is missing"),
        ("pcc)", "unexpected"),
        ("pcc(C=[1)]", "unexpected"),
        ("pcc(C='1)", "is missing"),
    ],
)
def test_brackets_and_quotes_must_match(text, message):
    with pytest.raises(ValueError, match=message):
        split_specifications(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot parse ''"),
        ("1br", "cannot parse '1br'"),
        ("pcc(C)", "C needs the name of an option"),
        ("pcc(C=cv)", "strings need quotes: C='cv'"),
        ("conformal(estimator=mc)", r"methods brackets: estimator=mc\(\)"),
        ("weave(estimator=[mlknn()", "']' is missing at the end"),
        ("weave(estimator=[sklearn.svm.SVC])", "brackets: estimator=sklearn.svm.SVC()"),
        ("pcc(C=1+x)", "is not a number"),
        ("pcc(**{'C': 1})", "name=value"),
        ("pcc(C=1)(D=2)", "unbalanced brackets|cannot parse"),
        ("pcc(C=)", "options as name=value"),
        ("pcc(C=(lambda: 1)())", "not the name of a class"),
        ("pcc(C=1, C=2)", "C is given twice"),
        ("pcc(C={[]: 1})", "is not a number"),
        ("pcc(C=[x for x in (1,)])", "is not a number"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        parse_specification(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pcc(sklearn.naive_bayes.GaussianNB(), 1)", "1 needs the name of an option: name=1"),
        ("sklearn.dummy.DummyClassifier('prior')", "needs the name of an option"),
        ("sklearn.multioutput.MultiOutputClassifier", "needs the option 'estimator'"),
        (
            "sklearn.multioutput.MultiOutputClassifier(sklearn.svm.SVC(), estimator=1)",
            "estimator is given twice",
        ),
    ],
)
def test_arguments_without_a_name_are_bound_as_in_python(text, message):
    with pytest.raises(ValueError, match=message):
        make_method(text)


def test_an_argument_without_a_name_is_shown_as_it_was_written():
    (name,) = make_methods("sklearn.multioutput.MultiOutputClassifier(sklearn.svm.SVC(C=2))")
    assert name == "MultiOutputClassifier(sklearn.svm.SVC(C=2))"


def test_import_paths_with_options():
    (item,) = make_methods(
        "sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=5)"
    ).items()
    assert item[0] == "DecisionTreeClassifier(max_depth=3, random_state=5)"
    assert (item[1].max_depth, item[1].random_state) == (3, 5)


def test_estimators_inside_estimators_share_the_seed():
    model = make_method(
        "sklearn.multioutput.MultiOutputClassifier("
        "estimator=sklearn.ensemble.RandomForestClassifier(n_estimators=3))",
        seed=9,
    )
    assert isinstance(model, MultiOutputClassifier)
    assert isinstance(model.estimator, RandomForestClassifier)
    assert model.estimator.random_state == 9


def test_features_come_before_any_estimator():
    name = "p2cg(sweeps=70, features=KernelFeatures(gamma=2.0))"
    ((shown, model),) = make_methods(name, seed=9).items()
    assert shown == name
    features, chain = (step for _, step in model.steps)
    assert isinstance(features, KernelFeatures)
    assert (features.gamma, features.random_state) == (2.0, 9)
    assert (chain.inference.sweeps, chain.random_state) == (70, 9)
    inner = "BinaryRelevance(estimator=sklearn.tree.DecisionTreeClassifier(features={}))"
    transformer = "sklearn.preprocessing.MinMaxScaler()"
    assert isinstance(make_method(inner.format(transformer)).estimator, Pipeline)


def test_nothing_but_estimators_is_made(tmp_path):
    target = tmp_path / "made"
    for call in (f"pathlib.Path.touch(self='{target}')", f"os.mkdir(path='{target}')"):
        with pytest.raises(ValueError, match=r"not a scikit-learn estimator|cannot import"):
            make_method(call)
        nested = f"sklearn.multioutput.MultiOutputClassifier(estimator={call})"
        with pytest.raises(ValueError, match=r"not a scikit-learn estimator|cannot import"):
            make_method(nested)
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no methods given"),
        ("pccc", "unknown method 'pccc': did you mean pcc"),
        ("qqqqqq", "unknown method 'qqqqqq': choose from auto, br, cc, pcc"),
        ("sklearn.tree.DecisionTreeClasifier", "did you mean DecisionTreeClassifier"),
        ("sklearn.ensemble.RandomForest", r"has no RandomForest; did you mean RandomForestClass"),
        (
            "sklearn.ensemble.RandomForestRegressor",
            "is a regressor, not a classifier; did you mean RandomForestClassifier",
        ),
        ("sklearn.linear_model.Ridge", "is a regressor, not a classifier; did you mean RidgeCl"),
        ("sklearn.cluster.KMeans", "is a clusterer, not a classifier; choose a classifier"),
        ("no_such_package.Model", "cannot import no_such_package.Model"),
        ("sklearn.preprocessing.StandardScaler", "lacks fit or predict"),
        (
            "sklearn.tree.DecisionTreeClassifier(max_dept=3)",
            "no option 'max_dept': did you mean max_depth",
        ),
        (
            "br(features='kernel')",
            r"features must be a transformer, such as KernelFeatures\(\); got",
        ),
        ("br(features=cc())", "features must be a transformer"),
        ("br(features=KernelFeatures(width=1))", "KernelFeatures has no option 'width'"),
        ("KernelFeatures", "lacks fit or predict"),
        ("sklearn.tree.DecisionTreeClassifier,sklearn.tree.DecisionTreeClassifier", "given twice"),
    ],
)
def test_errors_name_the_fix(text, message):
    with pytest.raises(ValueError, match=message):
        make_methods(text)


def test_the_table_of_methods_can_be_read():
    for method in METHODS.values():
        assert str(parse_specification(method.specification)) == method.specification.removesuffix(
            "()"
        )
        assert method.description


def test_options_of_the_user_win(monkeypatch):
    stump = METHODS["br"].__class__("sklearn.tree.DecisionTreeClassifier(max_depth=1)", "stump")
    monkeypatch.setitem(METHODS, "stump", stump)
    (model,) = make_methods("stump(max_depth=2, criterion='entropy')").values()
    assert isinstance(model, DecisionTreeClassifier)
    assert (model.max_depth, model.criterion) == (2, "entropy")
    assert make_method("stump").max_depth == 1


@pytest.mark.parametrize("key", METHODS)
def test_every_short_name_makes_a_classifier_with_a_seed(key):
    model = make_method(key, seed=3)
    parameters = model.get_params(deep=False)
    assert parameters["random_state"] == 3
    options = ("C", "smoothing", "forgetting", "temperature", "cv", "time_budget", "confidence")
    option = next(name for name in options if name in parameters)
    assert getattr(make_method(f"{key}({option}=0.5)"), option) == 0.5


def test_options_of_a_rule_reach_it():
    assert make_method("bomc-sample(samples=9)").decision.samples == 9
    assert make_method("bomc-ind-cmn(fallback=None)").decision.fallback is None


def test_joint_models_over_other_classifiers():
    woven = make_method(
        "weave(estimator=sklearn.tree.DecisionTreeClassifier(max_depth=2), joint=mc(C=1))", seed=5
    )
    assert isinstance(woven.estimator, DecisionTreeClassifier)
    assert isinstance(woven.joint, TreeMixture)
    assert (woven.random_state, woven.estimator.random_state, woven.joint.random_state) == (5, 5, 5)


def test_lists_of_classifiers():
    text = "weave(estimator=[sklearn.tree.DecisionTreeClassifier(), mlknn()])"
    assert [type(each) for each in make_method(text).estimator] == [DecisionTreeClassifier, MLkNN]
    assert list(make_methods(text)) == [text]


def test_named_classifiers_and_pipelines():
    steps = "[('scale', sklearn.preprocessing.StandardScaler()), ('svm', sklearn.svm.SVC(C=2))]"
    text = f"weave(estimator=[('a', sklearn.pipeline.Pipeline(steps={steps})), ('b', mlknn())])"
    woven = make_method(text, seed=7)
    assert [name for name, _ in woven.estimator] == ["a", "b"]
    assert (woven.get_params()["a__svm__C"], woven.get_params()["a__svm__random_state"]) == (2, 7)
    assert list(make_methods(text)) == [text]
    assert str(parse_specification("a(b=(1,), c=(), d=[(e(), 2)])")) == (
        "a(b=(1,), c=(), d=[(e(), 2)])"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("P2CG", "p2cg"),
        ("MC", "mc"),
        ("CTBN", "sc"),
        ("MCC", "mcc"),
        ("MPCC", "mpcc"),
        ("BOMC_CMN", "bomc-cmn"),
        ("BOMC_IND_Sample", "bomc-ind-sample"),
        ("SVM_Batch", "svm"),
        ("PA_OnlineCV", "pa-online"),
        ("PA_BatchCV", "pa-batch"),
        ("MLKNN", "mlknn"),
        ("Ecc", "ecc"),
    ],
)
def test_names_as_papers_write_them(written, meant):
    assert repr(make_method(written)) == repr(make_method(meant))
    (name,) = make_methods(written)
    assert name == written


def test_classes_are_told_from_methods_by_their_case():
    assert make_method("cc(inference=Beam(width=3))").inference.width == 3
    with pytest.raises(ValueError, match="unknown method 'Ppcg'"):
        make_method("Ppcg")


def test_published_methods_have_a_preset():
    ours = {"auto", "forest", "weave", "best", "calibrated", "conformal", "lp"}
    as_published = {"svm", "lasvm", "pa-online", "pa-batch"}
    for name in METHODS.keys() - ours - as_published:
        make_method(f"{name}(preset='published')")


def test_the_neighbours_pass_the_features_through():
    assert make_method("iblr(passthrough=True)").passthrough is True
