"""What the explorer's server says is what the library says, and it says it to nobody else."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BinaryRelevance,
    ClassifierChain,
    JointClassifierCV,
    KernelFeatures,
    TreeMixture,
    TreeNetwork,
)
from labelweave.decision import FLoss
from labelweave.evaluation import chow_liu
from labelweave.explore.server import serving
from labelweave.explore.session import RowAnswers, Session
from labelweave.explore.views import (
    label_curves,
    label_list,
    model_name,
    model_view,
    row_answer,
    row_list,
)
from labelweave.models.explanations import can_explain
from tests.evaluation.make import comparison
from tests.explore.make import NASTY, Client, emotions_session
from tests.report.test_tables import FIGURES


@pytest.fixture(scope="module")
def session():
    made = emotions_session()
    made.compute()
    return made


@pytest.fixture(scope="module")
def client(session):
    with serving(session, comparison=comparison(FIGURES, name="emotions")) as link:
        yield Client(link)


def test_the_summary(client, session):
    found = client.json("/api/summary")
    assert (found["n_rows"], found["n_labels"], found["ready"]) == (593, 6, 1.0)
    assert found["labels"][0] == NASTY
    assert found["has_truth"]
    assert found["has_comparison"]
    assert found["can_explain"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (TreeNetwork(), "TreeNetwork"),
        (make_pipeline("passthrough", TreeNetwork()), "TreeNetwork"),
        (
            make_pipeline(SimpleImputer(), make_pipeline(StandardScaler(), ClassifierChain())),
            "ClassifierChain after SimpleImputer and StandardScaler",
        ),
        (FrozenEstimator(make_pipeline(StandardScaler(), BinaryRelevance())), None),
    ],
)
def test_models_have_short_names(model, name):
    assert model_name(model) == (name or "BinaryRelevance after StandardScaler")


def test_the_summary_names_the_model_and_gives_its_settings():
    model = make_pipeline(StandardScaler(), BinaryRelevance(C=0.01))
    with serving(emotions_session(model)) as link:
        found = Client(link).json("/api/summary")
    assert found["model"] == "BinaryRelevance after StandardScaler"
    assert found["settings"] == " ".join(repr(model).split())


@pytest.mark.parametrize("fixed", [{}, {0: 1}, {1: 0, 3: 1}, {j: j % 2 for j in range(6)}])
@pytest.mark.parametrize("decision", ["subset", "hamming", "f1"])
def test_an_answer_is_that_of_the_conditional_distribution(client, session, fixed, decision):
    text = ",".join(f"{label}:{value}" for label, value in fixed.items())
    found = client.json(f"/api/row/7?fixed={text}&decision={decision}")
    joint = session.model.predict_joint(session.X[[7]])
    given = joint.condition(fixed) if fixed else joint
    np.testing.assert_allclose(found["marginals"], given.marginals()[0], atol=1e-12)
    evidence = np.exp(joint.evidence_log_prob(fixed).value[0]) if fixed else 1.0
    assert found["evidence_probability"] == pytest.approx(evidence)
    mode, top = given.mode(), given.top(8)
    assert found["mode"]["labels"] == np.flatnonzero(mode.labels[0]).tolist()
    assert found["mode"]["p"] == pytest.approx(np.exp(mode.log_prob[0]))
    assert found["mode"]["optimal"]
    possible = np.isfinite(top.log_prob[0])
    assert [each["p"] for each in found["top"]] == pytest.approx(np.exp(top.log_prob[0][possible]))
    assert found["truth"] == np.flatnonzero(session.truth[7]).tolist()
    if decision == "f1":
        labels = FLoss()(given)
        assert found["decision"]["labels"] == np.flatnonzero(labels[0]).tolist()
        assert found["decision"]["expected"] == pytest.approx(1 - FLoss().risk(given, labels)[0])


@pytest.mark.parametrize("order", ["number", "confidence", "entropy", "error", "labels"])
@pytest.mark.parametrize("descending", [0, 1])
def test_rows_come_in_order_and_in_pages(client, session, order, descending):
    pages = [
        client.json(f"/api/rows?order={order}&descending={descending}&start={start}&count=250")
        for start in (0, 250, 500)
    ]
    rows = [row for page in pages for row in page["rows"]]
    assert sorted(row["row"] for row in rows) == list(range(593))
    name = {"number": "row", "labels": "n_labels"}.get(order, order)
    values = [row[name] for row in rows]
    assert values == pytest.approx(sorted(values, reverse=bool(descending)))
    first = rows[0]
    assert first["predicted"] == np.flatnonzero(session.answers.labels[first["row"]]).tolist()


def test_true_labels_may_be_impossible():
    made = emotions_session()
    made.compute()
    made.answers.log_truth[3] = -np.inf
    with serving(made) as link:
        found = Client(link).json("/api/rows?order=error&descending=1")["rows"][0]
    assert (found["row"], found["error"]) == (3, None)


def test_rows_are_found_by_label_and_number(client, session):
    found = client.json("/api/rows?search=%3Cscript&count=500")
    has = (session.truth[:, 0] | session.answers.labels[:, 0]).astype(bool)
    assert found["total"] == has.sum()
    assert 17 in [row["row"] for row in client.json("/api/rows?search=17")["rows"]]
    assert client.json("/api/rows?search=nothing")["total"] == 0


@pytest.mark.parametrize(
    "model",
    [
        ClassifierChain(C=0.01, label_penalty=0.1),
        BinaryRelevance(C=0.01),
        TreeNetwork(C=0.01, label_penalty=0.1),
        TreeMixture(n_components=2, C=0.01, label_penalty=0.1),
        make_pipeline(StandardScaler(), ClassifierChain(C=0.01, label_penalty=0.1)),
        make_pipeline(
            StandardScaler(),
            make_pipeline(
                KernelFeatures(gamma="median", n_components=30),
                ClassifierChain(C=0.01, label_penalty=0.1),
            ),
        ),
    ],
)
def test_contributions_add_up_to_the_log_odds(model):
    made = emotions_session(model)
    with serving(made) as link:
        answers = [Client(link).json(f"/api/row/5/why?label={j}&fixed=1:1") for j in range(6)]
    joint = made.joint_of([5])
    mode = joint.condition({1: 1}).mode().labels
    for label, found in enumerate(answers):
        parts = sum(part["contribution"] for part in found["parts"]) + found["rest"]
        assert parts == pytest.approx(found["log_odds"])
        others = {k: int(mode[0, k]) for k in range(6) if k != label}
        given = {entry["label"]: entry["value"] for entry in found["given"]}
        assert given.items() <= others.items()
        expected = (joint.condition(given) if given else joint).marginals()[0, label]
        assert found["probability"] == pytest.approx(expected, abs=1e-9)


def test_labels(client, session):
    found = client.json("/api/labels")
    predicted = session.answers.labels
    f1 = f1_score(session.truth, predicted, average=None, zero_division=0)
    assert [label["f1"] for label in found["labels"]] == pytest.approx(f1)
    assert [label["positives"] for label in found["labels"]] == session.truth.sum(axis=0).tolist()
    (forest,) = found["forests"]
    assert len(forest["parents"]) == 6


def test_a_learned_tree_is_shown():
    made = emotions_session(TreeNetwork(C=0.01, label_penalty=0.1))
    with serving(made) as link:
        (forest,) = Client(link).json("/api/labels")["forests"]
    assert forest["parents"] == made.model.structure_.parents.tolist()
    assert forest["coupling"] == pytest.approx(made.model.structure_.couplings.tolist())


def test_without_a_learned_tree_the_forest_of_the_labels_is_shown(client, session):
    (shown,) = client.json("/api/labels")["forests"]
    forest = chow_liu(session.truth)
    assert shown["parents"] == forest.parents.tolist()
    assert shown["strength"] == pytest.approx(forest.gains.tolist())
    assert shown["coupling"] == pytest.approx(forest.couplings.tolist())
    assert min(shown["coupling"]) < 0 < max(shown["coupling"])


def test_matrices(client, session):
    counts = session.truth.astype(int).T @ session.truth.astype(int)
    chosen = [4, 1, 2]
    found = client.json("/api/matrix?kind=cooccurrence&labels=4,1,2")["values"]
    np.testing.assert_array_equal(found, counts[np.ix_(chosen, chosen)])
    found = client.json("/api/matrix?kind=conditional&labels=4,1,2")["values"]
    expected = counts[np.ix_(chosen, chosen)] / np.diag(counts)[chosen][:, None]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    found = client.json("/api/matrix?kind=model&labels=4,1,2")["values"]
    np.testing.assert_allclose(np.diag(found), 1)


def test_the_curves_of_a_label(client, session):
    found = client.json("/api/label/2")
    p, truth = session.answers.marginals[:, 2], session.truth[:, 2]
    for point in found["curve"][10:90:20]:
        predicted = p >= point["threshold"]
        assert point["f1"] == pytest.approx(f1_score(truth, predicted))
        assert point["precision"] == pytest.approx(precision_score(truth, predicted))
        assert point["recall"] == pytest.approx(recall_score(truth, predicted))
    assert sum(bin["n"] for bin in found["reliability"]) == 593
    assert max(point["f1"] for point in found["curve"]) == next(
        point["f1"] for point in found["curve"] if point["threshold"] == found["best"]
    )


def test_the_model(client, session):
    found = client.json("/api/model")
    right = (session.answers.labels == session.truth).all(axis=1)
    measures = {each["name"]: each["value"] for each in found["measures"]}
    assert measures["exact match"] == pytest.approx(right.mean())
    assert found["coverage"][-1]["exact_match"] == pytest.approx(right.mean())
    assert sum(bin["n"] for bin in found["joint"]) == 593
    assert found["comparison"]["methods"] == list(FIGURES)


@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevance(C=0.01, decision="f1"),
        BinaryRelevance(C=0.01, decision="cmn"),
        JointClassifierCV(
            estimator=DecisionTreeClassifier(max_depth=3), joint=BinaryRelevance(C=0.01), cv=2
        ),
    ],
)
def test_measures_are_those_of_what_the_model_predicts(model):
    made = emotions_session(model)
    made.compute()
    with serving(made) as link:
        found = Client(link).json("/api/model")
    predicted = made.model.predict(made.X)
    measures = {each["name"]: each["value"] for each in found["measures"]}
    assert measures["exact match"] == pytest.approx((predicted == made.truth).all(axis=1).mean())
    assert measures["micro F1"] == pytest.approx(f1_score(made.truth, predicted, average="micro"))


class Growing(RowAnswers):
    """Answers of which one more is known at every look."""

    looks = 0

    @property
    def n_done(self):
        self.looks += 1
        return self.looks

    @n_done.setter
    def n_done(self, value):
        self.looks = value


def test_views_of_a_session_that_is_under_way():
    made = emotions_session()
    made.compute()
    growing = Growing(made.n_rows, made.n_labels)
    vars(growing).update({**vars(made.answers), "looks": 64})
    made.answers = growing
    for view in (model_view(made), label_list(made), label_curves(made, 2)):
        assert 0 < view["ready"] < 1
    assert model_view(made)["measures"]
    assert row_list(made, 0, 10, "entropy", True, "")["total"] > 64


def test_before_the_first_answer():
    made = emotions_session()
    assert label_curves(made, 0)["curve"] == []
    assert model_view(made)["measures"] == []
    assert row_list(made, 0, 10, "confidence", False, "")["total"] == 0


def test_what_cannot_be_computed_is_told():
    made = emotions_session()
    made.X = made.X.copy()
    made.X[100] = np.nan
    made.start().join()
    assert made.failure.startswith("rows from 64 on: ")


def test_searches_are_looked_into():
    search = GridSearchCV(TreeNetwork(label_penalty=0.1), {"C": [0.01]}, cv=2)
    made = emotions_session(make_pipeline(StandardScaler(), search))
    forest = label_list(made)["forests"][0]
    assert forest["title"] == "learned tree"
    assert can_explain(made.model)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"Y": np.full((593, 6), 2)}, "Y must"),
        ({"Y": np.zeros((3, 6))}, "Y must have shape"),
        ({"label_names": ["a"]}, "label_names must name"),
        ({"feature_names": ["a"]}, "feature_names must name"),
    ],
)
def test_bad_sessions(session, wrong, message):
    with pytest.raises(ValueError, match=message):
        Session(session.model, session.X, **wrong)


def test_unusual_features_come_first(client, session):
    found = client.json("/api/row/7")["features"]
    deviations = (session.X[7] - session.X.mean(axis=0)) / session.X.std(axis=0)
    farthest = np.argsort(-np.abs(deviations))[:60]
    names = session.feature_names
    assert [each["name"] for each in found["shown"]] == [names[k] for k in farthest]
    assert [each["value"] for each in found["shown"]] == pytest.approx(session.X[7, farthest])
    shown = [each["deviation"] for each in found["shown"]]
    assert shown == pytest.approx(deviations[farthest])
    assert (found["count"], found["sparse"]) == (72, False)


def test_zeros_of_sparse_features_are_left_out():
    X = sparse.random_array((50, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    Y = np.random.default_rng(1).integers(0, 2, size=(50, 3))
    made = Session(BinaryRelevance(C=0.01).fit(X, Y), X)
    found = row_answer(made, 4, {}, "subset")["features"]
    dense = X.toarray()
    deviations = (dense[4] - dense.mean(axis=0)) / dense.std(axis=0)
    assert sorted(each["name"] for each in found["shown"]) == [
        str(k) for k in np.flatnonzero(dense[4])
    ]
    for each in found["shown"]:
        assert each["deviation"] == pytest.approx(deviations[int(each["name"])])
    assert (found["count"], found["sparse"]) == (np.count_nonzero(dense[4]), True)


def test_features_that_are_text_or_constant_have_no_deviation():
    X = pd.DataFrame({"text": list("abab"), "none": np.nan, "same": 0.1, "size": [1.0, 2, 3, 4]})
    numbers = ColumnTransformer([("numbers", "passthrough", ["same", "size"])])
    model = make_pipeline(numbers, BinaryRelevance(C=0.01))
    Y = np.array([[0, 1], [1, 0], [0, 1], [1, 0]])
    made = Session(model.fit(X, Y), X)
    found = row_answer(made, 0, {}, "subset")["features"]
    values = {each["name"]: (each["value"], each["deviation"]) for each in found["shown"]}
    assert values == {
        "size": (1.0, pytest.approx(-1.5 / np.sqrt(1.25))),
        "same": (0.1, 0.0),
        "text": ("a", None),
    }


def test_missing_values_and_strange_searches():
    data_model = make_pipeline(SimpleImputer(), BinaryRelevance(C=0.01))
    made = emotions_session(data_model)
    made.X = made.X.copy()
    made.X[0, 3] = np.nan
    with serving(made) as link:
        client = Client(link)
        assert client.json("/api/row/0")["features"]["count"] == made.X.shape[1] - 1
        assert client.json("/api/rows?search=%C2%B2")["total"] == 0
        assert client.json(f"/api/rows?search={'9' * 5000}")["total"] == 0


def test_rows_without_labels():
    made = emotions_session(truth=False)
    with serving(made) as link:
        client = Client(link)
        made.compute()
        summary = client.json("/api/summary")
        assert not summary["has_truth"]
        assert "error" not in [order["name"] for order in summary["orders"]]
        assert client.json("/api/row/3")["truth"] is None
        assert client.json("/api/rows")["rows"][0]["error"] is None
        assert client.json("/api/model")["measures"] == []
        assert client.json("/api/label/1")["curve"] == []
        assert client.json("/api/labels")["labels"][0]["positives"] is None
        assert client.get("/api/matrix?kind=cooccurrence&labels=1")[0] == 409


@pytest.mark.parametrize(
    "path",
    [
        *("/api/row/593", "/api/row/0?fixed=6:1", "/api/row/0?fixed=0:7", "/api/row/0?fixed=x"),
        *("/api/row/0?decision=best", "/api/rows?order=taste", "/api/rows?start=-1"),
        *("/api/label/6", "/api/matrix?kind=model&labels=9", "/api/matrix?kind=x&labels=1"),
        *("/api/row/" + 5000 * "9", "/api/label/" + 5000 * "9", "/api/row/1.5", "/api/row/-1"),
        *("/api/nothing", "/static/nothing.js", "/static/..%2fsession.py", "/static/__init__.py"),
    ],
)
def test_what_does_not_exist_is_not_found(client, path):
    assert client.get(path)[0] == 404


def test_nobody_gets_in_without_the_token_or_under_another_name(client):
    for path in ("/api/summary", "/api/row/0", "/api/labels"):
        for token in ("", "x" * 22, "ü"):
            assert client.get(path, **{"X-Labelweave-Token": token})[0] == 403
    for host in ("evil.example", "127.0.0.1.evil.example:80"):
        assert client.get("/", Host=host)[0] == 400
        assert client.get("/api/summary", Host=host)[0] == 400


def test_every_answer_forbids_what_the_page_does_not_need(client):
    for path in ("/", "/api/summary", "/static/nothing"):
        headers = client.get(path)[1]
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_model_without_joint_distribution_is_refused():
    from sklearn.dummy import DummyClassifier

    with pytest.raises(ValueError, match="model has no joint distribution to explore"):
        emotions_session(DummyClassifier())
