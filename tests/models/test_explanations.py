"""Contributions add up to log-odds and log-ratios, and are shap's for linear models."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    BestJoint,
    BinaryRelevance,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    DistributionalForest,
    JointClassifierCV,
    KernelFeatures,
    MixtureSettings,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
    explain_label,
    explain_set,
)
from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint
from labelweave.logistic.conditionals import LinearConditionals
from labelweave.models.conditionals import LinearMembers
from labelweave.models.explanations import can_explain, decompose
from labelweave.models.predictions import predict_joint
from tests.joint.cases import chain_parameters

PENALTIES = {"C": 1.0, "label_penalty": 0.1}
NAMES = ["sun", "rain", "wind", "snow"]


def sample(n=80, L=4, D=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) + 2.0
    noise = rng.normal(size=(n, L))
    Y = ((X - 2.0) @ rng.normal(size=(D, L)) + 0.7 * noise + np.roll(noise, 1, axis=1) > 0).astype(
        int
    )
    return X, Y


X, Y = sample()
FRAME, LABELS = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=NAMES)
MODELS = {
    "br": BinaryRelevance(C=1.0),
    "br of classifiers": BinaryRelevance(estimator=LogisticRegression()),
    "chain": ClassifierChain(order="random", **PENALTIES),
    "chain of classifiers": ClassifierChain(estimator=GaussianNB()),
    "chain of counts": ClassifierChain(estimator=BernoulliNB(binarize=0.0)),
    "tree": TreeNetwork(**PENALTIES),
    "chains": ChainEnsemble(n_estimators=3, **PENALTIES),
    "trees": TreeEnsemble(n_estimators=3, **PENALTIES),
    "mixture of trees": TreeMixture(n_components=3, **PENALTIES),
    "mixture of chains": ChainMixture(
        n_components=2, settings=MixtureSettings(gate="constant"), **PENALTIES
    ),
    "one component": TreeMixture(n_components=1, **PENALTIES),
    "stacking": JointClassifierCV(
        estimator=RandomForestClassifier(5), joint=TreeMixture(n_components=2, **PENALTIES), cv=2
    ),
    "stacking with features": JointClassifierCV(
        estimator=[("near", KNeighborsClassifier()), ("bayes", GaussianNB())],
        joint=ClassifierChain(**PENALTIES),
        passthrough=True,
        cv=2,
    ),
    "scaled": make_pipeline(StandardScaler(), ClassifierChain(**PENALTIES)),
    "searched": GridSearchCV(
        make_pipeline(StandardScaler(), BinaryRelevance()), {"binaryrelevance__C": [1.0]}, cv=2
    ),
    "projected": make_pipeline("passthrough", PCA(2), TreeNetwork(**PENALTIES)),
    "kernel": make_pipeline(KernelFeatures(n_components=6), ClassifierChain(**PENALTIES)),
    "best": BestJoint(candidates=["sc(C=1,label_penalty=1)"], cv=2),
}


@pytest.fixture(scope="module")
def fitted():
    kept = {}

    def fit(name):
        if name not in kept:
            kept[name] = MODELS[name].fit(FRAME, LABELS)
        return kept[name]

    return fit


# ---------------------------------------------------------------------- the decomposition


@st.composite
def members(draw):
    """Draw linear members of any structure with their joint, and the row to compare with."""
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 3))
    L, K = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    scale, kind = (
        draw(st.sampled_from([0.5, 3.0, 100.0])),
        draw(st.sampled_from(["none", "tree", "chain"])),
    )
    rng = np.random.default_rng(seed)
    D, conditionals, parts = 3, [], []
    rows, base = rng.normal(size=(n, D)), rng.normal(size=(1, D))
    for _ in range(K):
        intercept, coupling, order = chain_parameters(rng, 1, L, scale, tree=kind == "tree")
        coupling = coupling * (kind != "none")
        weights = rng.normal(scale=scale, size=(L, D))
        member = LinearConditionals(weights, intercept[0], coupling, 1.0, 1.0)
        conditionals.append(member)
        parts.append(ChainJoint(member.scores(rows), coupling, order))
    log_weights = np.log(rng.dirichlet(np.ones(K), size=n + 1))
    joint = MixtureJoint(np.exp(log_weights[:n]), parts)
    vectors = rng.integers(0, 2, size=(2, n, L)).astype(np.int8)
    return (
        LinearMembers(rows, conditionals, log_weights[:n]),
        LinearMembers(base, conditionals, log_weights[n:]),
        rng.random(L),
        joint,
        vectors,
    )


def total(parts):
    return (
        parts.base
        + parts.features.sum(axis=1)
        + parts.labels.sum(axis=1)
        + parts.interaction
        + parts.components.sum(axis=1)
    )


@given(members())
def test_the_terms_add_up_to_the_log_ratio(case):
    rows, base, rates, joint, (labels, against) = case
    parts = decompose(rows, base, rates, labels, against)
    expected = joint.log_prob(labels) - joint.log_prob(against)
    size = 1.0 + np.abs(joint.log_prob(labels)) + np.abs(joint.log_prob(against))
    assert (abs(total(parts) - expected) <= 1e-9 * size.max()).all()
    by_label = parts.by_label.sum(axis=1) + parts.between_components
    assert (abs(by_label - expected) <= 1e-9 * size.max()).all()


@given(members())
def test_swapping_the_vectors_changes_every_sign(case):
    rows, base, rates, _, (labels, against) = case
    one = decompose(rows, base, rates, labels, against)
    two = decompose(rows, base, rates, against, labels)
    np.testing.assert_allclose(one.shares, two.shares, atol=1e-12)
    for name in set(vars(one)) - {"shares"}:
        there, back = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(there, -back, atol=1e-9 * (1 + abs(there).max(initial=0)))


@given(members())
def test_at_the_baseline_and_without_mixing_only_labels_contribute(case):
    _, base, rates, _, (labels, against) = case
    alone = LinearMembers(base.features, base.conditionals[:1], np.zeros((1, 1)))
    parts = decompose(alone, alone, rates, labels[:1], against[:1])
    assert not parts.features.any()
    assert not parts.components.any()
    assert parts.between_components == 0.0


def test_a_label_that_differs_alone_is_linear_up_to_its_children():
    rng = np.random.default_rng(3)
    intercept, coupling, order = chain_parameters(rng, 1, 4)
    member = LinearConditionals(rng.normal(size=(4, 2)), intercept[0], coupling, 1.0, 1.0)
    rows, base = rng.normal(size=(1, 2)), np.zeros((1, 2))
    labels = rng.integers(0, 2, size=(1, 4)).astype(np.int8)
    j = int(order[1])
    labels[0, j], against = 1, labels.copy()
    against[0, j] = 0
    parts = decompose(
        LinearMembers.alone(rows, member),
        LinearMembers.alone(base, member),
        np.zeros(4),
        labels,
        against,
    )
    assert parts.interaction == 0.0
    np.testing.assert_allclose(parts.features[0], member.weights[j] * rows[0])
    parent = int(order[0])
    assert parts.labels[0, parent] == pytest.approx(coupling[j, parent] * labels[0, parent])
    assert parts.labels[0, j] == 0.0
    for child in map(int, order[2:]):
        sign = 2 * labels[0, child] - 1
        with_, without = (
            member.scores(rows, y)[0, child] for y in (labels.astype(float), against.astype(float))
        )
        expected = np.logaddexp(0, -sign * without) - np.logaddexp(0, -sign * with_)
        assert parts.labels[0, child] == pytest.approx(expected)


def test_a_member_that_is_impossible_has_no_share():
    rng = np.random.default_rng(0)
    one, two = (
        LinearConditionals(rng.normal(size=(2, 1)), np.zeros(2), np.zeros((2, 2)), 1.0, 1.0)
        for _ in range(2)
    )
    x, labels, against = np.ones((1, 1)), np.array([[1, 0]], np.int8), np.array([[0, 0]], np.int8)
    rows = LinearMembers(x, (one, two), np.array([[0.0, -np.inf]]))
    parts = decompose(rows, rows, np.zeros(2), labels, against)
    joint = IndependentJoint(one.scores(x))
    assert total(parts) == pytest.approx(joint.log_prob(labels) - joint.log_prob(against))


# ---------------------------------------------------------------------- fitted models


@pytest.mark.parametrize("name", MODELS)
def test_every_linear_model_explains_labels_and_sets(fitted, name):
    model = fitted(name)
    assert can_explain(model)
    rows = FRAME[:6]
    joint = predict_joint(model, rows)
    found = explain_set(model, rows)
    np.testing.assert_array_equal(found.labels, joint.top(2).labels[:, 0])
    np.testing.assert_array_equal(found.against, joint.top(2).labels[:, 1])
    np.testing.assert_allclose(
        found.log_ratio, joint.log_prob(found.labels) - joint.log_prob(found.against), atol=1e-8
    )
    found = explain_label(model, rows, "wind", {"sun": 1})
    assert (found.labels[:, 0] == 1).all()
    others = {j: found.labels[:, j] for j in (0, 1, 3)}
    marginal = joint.condition(others).marginals()[:, 2]
    np.testing.assert_allclose(1 / (1 + np.exp(-found.log_ratio)), marginal, atol=1e-8)
    interaction = found.values[:, found.kinds.index("interaction")]
    assert not interaction.any()
    assert np.ptp(found.base_values) == pytest.approx(0.0, abs=1e-12)
    assert found.label_names == tuple(NAMES)
    assert found.values.shape == found.data.shape == (6, len(found.feature_names))


def test_features_contribute_as_in_shap(fitted):
    """What LinearExplainer gives: w_d (x_d - mean_d), and w·mean + b at the base."""
    model = fitted("br")
    found = explain_label(model, FRAME[:5], "rain")
    weights, intercept = model.conditionals_.weights[1], model.conditionals_.intercept[1]
    np.testing.assert_allclose(found.values[:, :3], weights * (X[:5] - X.mean(axis=0)))
    np.testing.assert_allclose(found.base_values, X.mean(axis=0) @ weights + intercept)
    assert not found.values[:, 3:].any()


def test_labels_count_as_features_of_their_children(fitted):
    """The last label of a chain is a logistic regression on the features and all other labels."""
    model = fitted("chain")
    last, before = int(model.order_[-1]), model.order_[:-1]
    found = explain_label(model, FRAME[:5], last)
    coupling = model.conditionals_.coupling[last]
    labels = found.labels.astype(float)
    expected = coupling * (labels - Y.mean(axis=0))
    np.testing.assert_allclose(found.values[:, 3:7], expected, atol=1e-12)
    rows = np.hstack([X, Y])[:, [0, 1, 2, *(3 + before)]]
    weights = np.concatenate([model.conditionals_.weights[last], coupling[before]])
    base = rows.mean(axis=0) @ weights + model.conditionals_.intercept[last]
    np.testing.assert_allclose(found.base_values, base)


def test_shap_agrees_and_accepts_the_arguments(fitted):
    shap = pytest.importorskip("shap")
    model = fitted("chain")
    last, before = int(model.order_[-1]), model.order_[:-1]
    found = explain_label(model, FRAME[:5], last)
    conditionals = model.conditionals_
    weights = np.concatenate([conditionals.weights[last], conditionals.coupling[last, before]])
    seen = np.hstack([X, Y[:, before]])
    explainer = shap.LinearExplainer(
        (weights, conditionals.intercept[last]), shap.maskers.Independent(seen, len(seen))
    )
    theirs = explainer(np.hstack([X[:5], found.labels[:, before]]))
    ours = found.values[:, [0, 1, 2, *(3 + before)]]
    np.testing.assert_allclose(theirs.values, ours, atol=1e-12)
    np.testing.assert_allclose(theirs.base_values, found.base_values)
    found = explain_set(fitted("mixture of trees"), FRAME[:5])
    values = shap.Explanation(**found.shap_arguments())
    np.testing.assert_array_equal(values.values, found.values)


def test_scaled_features_are_shown_as_they_came(fitted):
    model = fitted("scaled")
    found = explain_label(model, FRAME[:4], 0)
    np.testing.assert_array_equal(found.data[:, :3], X[:4])
    assert found.feature_names[:3] == ("a", "b", "c")
    weights = model[-1].conditionals_.weights[0] / model[0].scale_
    np.testing.assert_allclose(found.values[:, :3], weights * (X[:4] - X.mean(axis=0)), atol=1e-12)


def test_a_printed_explanation_tells_what_is_compared_and_the_largest_terms(fitted):
    found = explain_set(fitted("chain"), FRAME[:5])
    text = repr(found)
    lines = text.splitlines()
    assert lines[0] == "Explanation: 5 rows, 8 terms (to_frame lists them)"
    assert lines[1] == f"row 0: log-ratio {found.log_ratio[0]:+.3f} of {found.title()}"
    largest = found.to_frame(0, 5)
    for line, (term, _, _, contribution) in zip(
        lines[3:], largest.itertuples(index=False), strict=False
    ):
        assert line.split()[0] == term.split()[0]
        assert line.endswith(f"{contribution:+.3f}")
    assert "\nrow 2: " in text
    assert "\nrow 3: " not in text
    assert lines[-1] == "2 rows not shown"
    one = repr(explain_set(fitted("chain"), FRAME[:1]))
    assert "not shown" not in one
    assert "nan" not in one


def test_new_features_are_explained_by_their_own_names(fitted):
    assert explain_label(fitted("projected"), FRAME[:1], 0).feature_names[:2] == ("pca0", "pca1")
    names = explain_label(fitted("kernel"), FRAME[:1], 0).feature_names
    assert names[:2] == ("kernelfeatures0", "kernelfeatures1")
    names = explain_label(fitted("stacking with features"), FRAME[:1], 0).feature_names
    assert names[:12:4] == ("sun by near", "sun by bayes", "a")
    names = explain_label(fitted("stacking"), FRAME[:1], 0).feature_names
    assert names[0] == "sun by RandomForestClassifier"


@pytest.mark.parametrize("name", ["chain", "scaled", "stacking", "chain of classifiers"])
def test_a_row_is_its_own_baseline(fitted, name):
    for baseline in (FRAME[:1], X[0]):
        found = explain_set(fitted(name), FRAME[:1], baseline=baseline)
        is_feature = np.array(found.kinds) == "feature"
        np.testing.assert_allclose(found.values[:, is_feature], 0.0, atol=1e-12)


def test_sparse_and_dense_rows_have_the_same_explanation():
    model = ClassifierChain(**PENALTIES).fit(sp.csr_array(X), Y)
    dense, sparse = (explain_set(model, rows) for rows in (X[:5], sp.csr_array(X)[:5]))
    np.testing.assert_allclose(dense.values, sparse.values, atol=1e-12)
    assert dense.feature_names[:3] == ("x0", "x1", "x2")
    assert dense.label_names == ("y0", "y1", "y2", "y3")


def test_the_baseline_is_the_weighted_mean():
    weight = np.arange(len(X)) % 3
    weighted = BinaryRelevance(C=1.0).fit(X, Y, sample_weight=weight)
    repeated = BinaryRelevance(C=1.0).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    values = [explain_label(m, X[:3], 0).values for m in (weighted, repeated)]
    np.testing.assert_allclose(*values, rtol=1e-6)


def test_tables(fitted):
    found = explain_set(fitted("mixture of trees"), FRAME[:3])
    whole, short = found.to_frame(row=2), found.to_frame(row=2, max_terms=2)
    for frame in (whole, short):
        assert frame.contribution.sum() == pytest.approx(found.log_ratio[2])
    assert list(whole.kind[:1]) == ["base"]
    assert (whole.contribution[1:].abs().diff().dropna() <= 0).all()
    assert list(short.term)[-1] == f"{len(whole) - 3} others"
    by_label = found.by_label_frame(row=2)
    assert list(by_label.label) == NAMES
    assert by_label.contribution.sum() + found.between_components[2] == pytest.approx(
        found.log_ratio[2]
    )


def test_any_two_vectors_can_be_compared(fitted):
    model = fitted("mixture of trees")
    joint = model.predict_joint(FRAME[:1])
    vectors = list(itertools.product((0, 1), repeat=4))
    for labels, against in zip(vectors, vectors[::-1], strict=True):
        found = explain_set(model, FRAME[:1], [labels], [against])
        expected = joint.log_prob([labels]) - joint.log_prob([against])
        np.testing.assert_allclose(found.log_ratio, expected, atol=1e-9)
    found = explain_set(model, FRAME[:1], [vectors[0]])
    best = joint.top(2).labels[0]
    runner_up = best[1] if (best[0] == 0).all() else best[0]
    np.testing.assert_array_equal(found.against[0], runner_up)


def test_one_label_and_constant_labels():
    model = ClassifierChain(**PENALTIES).fit(X, Y[:, :1])
    found = explain_set(model, X[:4])
    np.testing.assert_allclose(abs(found.log_ratio), found.log_ratio)
    constant = np.column_stack([Y, np.ones(len(Y), int)])
    model = TreeNetwork(**PENALTIES).fit(X, constant)
    found = explain_label(model, X[:4], 4)
    assert (found.log_ratio > 0).all()


# ---------------------------------------------------------------------- bad input


def test_what_cannot_be_explained_is_refused(fitted):
    general = ClassifierChain(estimator=KNeighborsClassifier()).fit(X, Y)
    forest = DistributionalForest(estimator=RandomForestClassifier(5), temperature=1.0).fit(X, Y)
    members = ChainEnsemble(n_estimators=2, estimator=KNeighborsClassifier()).fit(X, Y)
    for model in (general, forest, members, KNeighborsClassifier().fit(X, Y)):
        assert not can_explain(model)
        with pytest.raises(ValueError, match="model must have conditionals with linear log-odds"):
            explain_set(model, X[:2])


def test_bad_arguments_are_named(fitted):
    model = fitted("chain")
    with pytest.raises(ValueError, match="label names the unknown label 'hail'"):
        explain_label(model, FRAME, "hail")
    with pytest.raises(ValueError, match="X must be a matrix, one row for each example"):
        explain_label(model, FRAME.to_numpy()[0], 0)
    with pytest.raises(ValueError, match=r"labels must have shape \(80, 4\)"):
        explain_set(model, FRAME, [[0, 1]])
    with pytest.raises(ValueError, match="feature_names must name the 3 features of X; it has 1"):
        explain_set(model, FRAME, feature_names=["a"])
    with pytest.raises(ValueError, match="row must be a whole number from 0 to 1"):
        explain_set(model, FRAME[:2]).to_frame(row=2)
