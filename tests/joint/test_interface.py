"""Arguments every form shares: labels, names, row ids, evidence, counts, and their errors."""

import numpy as np
import pandas as pd
import pytest

from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint, MixtureJoint, TreeJoint
from tests.joint.cases import FORMS, make

NAMES = ("a", "b")


def named(form):
    scores, coupling = np.array([[0.5, -1.0], [2.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    options = {"label_names": NAMES, "row_ids": [7, 3], "n_threads": 2}
    table = np.log(np.full((2, 4), 0.25))
    return {
        "independent": lambda: IndependentJoint(scores, **options),
        "table": lambda: ListedJoint.of_table(table, **options),
        "listed": lambda: ListedJoint(np.eye(2), np.log(np.full((2, 2), 0.5)), **options),
        "chain": lambda: ChainJoint(scores, coupling, **options),
        "general": lambda: ChainJoint.of_functions(
            lambda j, rows, prefix: scores[rows, j], 2, 2, **options
        ),
        "mixture": lambda: MixtureJoint([1.0], [IndependentJoint(scores)], **options),
        "tree": lambda: TreeJoint(np.dstack([scores, scores + 1]), [-1, 0], **options),
    }[form]()


named_forms = pytest.mark.parametrize(
    "form", ["independent", "table", "listed", "chain", "general", "mixture", "tree"]
)


@named_forms
def test_names_ids_and_threads_are_kept(form):
    joint = named(form)
    assert joint.label_names == NAMES
    assert joint.n_threads == 2
    assert joint.row_ids.tolist() == [7, 3]
    assert joint[[1]].row_ids.tolist() == [3]
    assert joint.condition({"b": 1}).label_names == NAMES
    by_index = joint.condition({1: 1}).marginals()
    np.testing.assert_array_equal(joint.condition({"b": 1}).marginals(), by_index)
    assert repr(joint) == f"{type(joint).__name__}(n_rows=2, n_labels=2)"


@named_forms
def test_draws_belong_to_row_ids(form):
    joint = named(form)
    other = joint.with_row_ids(np.array([7, 4]))
    one, two = joint.sample(64, 0), other.sample(64, 0)
    np.testing.assert_array_equal(one[0], two[0])
    assert (one[1] != two[1]).any()


@pytest.mark.parametrize("form", FORMS)
def test_conditioning_leaves_the_prior_alone(form):
    joint, _ = make(form, seed=1, n=3, L=3)
    before = joint.marginals()
    Y = np.zeros((3, 3), dtype=np.int8)
    Y.setflags(write=False)
    joint.condition({0: 0})
    joint.log_prob(Y)
    np.testing.assert_array_equal(joint.marginals(), before)
    assert (joint.known == -1).all()
    nothing = joint.condition({})
    np.testing.assert_allclose(nothing.marginals(), before, rtol=1e-12)


def test_labels_in_many_guises():
    joint = IndependentJoint(np.array([[0.5, -1.0]]))
    expected = joint.log_prob(np.array([[1, 0]], dtype=np.int8))
    guises = ([[1, 0]], [[True, False]], [[1.0, 0.0]], pd.DataFrame({"a": [1], "b": [0]}))
    for Y in guises:
        np.testing.assert_array_equal(joint.log_prob(Y), expected)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([1, 0], "shape"),
        ([[1, 0, 0]], "shape"),
        ([[1, 0], [0, 0]], "shape"),
        ([[2, 0]], "values"),
        ([[-1, 0]], "values"),
        ([[np.nan, 0]], "values"),
        ([["1", "0"]], "values|numeric"),
        (np.array([[None, 0]], dtype=object), "numeric"),
    ],
)
def test_bad_labels(Y, message):
    with pytest.raises(ValueError, match=f"Y must.*{message}"):
        IndependentJoint(np.array([[0.5, -1.0]])).log_prob(Y)


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({2: 1}, "labels are 0 to 1"),
        ({-1: 1}, "labels are 0 to 1"),
        ({True: 1}, "labels are 0 to 1"),
        ({"c": 1}, "unknown label 'c'"),
        ({"a": 2}, "values"),
        ({"a": [0, 1, 1]}, "one per row"),
        ({"a": 0.5}, "values"),
        ({"a": 1, 0: 1}, "twice"),
    ],
)
def test_bad_evidence(evidence, message):
    with pytest.raises(ValueError, match=f"evidence.*{message}"):
        named("chain").condition(evidence)


def test_evidence_by_name_needs_names():
    with pytest.raises(ValueError, match="without names"):
        IndependentJoint([[0.0]]).condition({"a": 1})


def test_impossible_evidence():
    for joint in (
        ListedJoint.of_table(np.log([[0.5, 0.5, 1e-320, 1e-320]])).condition({1: 0}),
        named("chain").condition({"b": 0}),
        named("independent").condition({"b": 0}),
        named("mixture").condition({"b": 0}),
    ):
        assert np.isneginf(joint.evidence_log_prob({1: 1}).value).all()
        with pytest.raises(ValueError, match="probability zero in row 0"):
            joint.condition({1: 1})


def test_a_component_that_excludes_the_evidence_loses_its_weight():
    never = ListedJoint.of_table(np.log([[1.0, 1e-320]])).condition({0: 0})
    maybe = IndependentJoint([[0.0]])
    posterior = MixtureJoint([0.9, 0.1], [never, maybe]).condition({0: 1})
    np.testing.assert_allclose(posterior.weights, [[0.0, 1.0]])
    np.testing.assert_allclose(posterior.marginals(), [[1.0]])


def test_certain_labels_of_an_independent_joint():
    joint = IndependentJoint([[np.inf, -np.inf, 0.0]])
    assert joint.known.tolist() == [[1, 0, -1]]
    np.testing.assert_allclose(joint.entropy(), [np.log(2)])
    np.testing.assert_allclose(joint.cardinality(), [[0, 0.5, 0.5, 0]])
    assert np.isneginf(joint.log_prob([[0, 0, 0]]))
    assert (joint.sample(9, 0)[:, :, :2] == [1, 0]).all()


def test_nested_mixtures_draw_independently():
    """The inner choice of a component must not repeat the outer one."""
    inner = MixtureJoint([0.5, 0.5], [IndependentJoint([[9.0]]), IndependentJoint([[-9.0]])])
    outer = MixtureJoint([0.5, 0.5], [inner, IndependentJoint([[-30.0]])], row_ids=[5])
    assert (outer.components[0].components[0].row_ids == outer.row_ids).all()
    share = outer.sample(4000, 0).mean()
    assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)


class TestBadInput:
    def test_names(self):
        for names in (("a",), ("a", "a")):
            with pytest.raises(ValueError, match="label_names"):
                IndependentJoint(np.zeros((1, 2)), label_names=names)

    def test_row_ids(self):
        with pytest.raises(ValueError, match="row_ids"):
            IndependentJoint(np.zeros((2, 2)), row_ids=[1])

    def test_counts(self):
        joint = IndependentJoint(np.zeros((1, 2)))
        for call in (
            lambda: joint.sample(-1),
            lambda: joint.sample(1.5),
            lambda: joint.top(0),
            lambda: joint.estimate("marginals", samples=1),
            lambda: joint.sample(1, random_state=-1),
        ):
            with pytest.raises(ValueError, match="whole number"):
                call()
        with pytest.raises(ValueError, match="quantity"):
            joint.estimate("variance")

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (np.log([[0.5, 0.25, 0.25]]), "2\\^L columns"),
            ([[0.0]], "2\\^L columns"),
            (np.log([[0.5, 0.4]]), "normalised"),
            ([[-np.inf, -np.inf]], "normalised"),
            ([[np.nan, 0.0]], "NaN"),
        ],
    )
    def test_table(self, table, message):
        with pytest.raises(ValueError, match=f"log_table.*{message}"):
            ListedJoint.of_table(table)

    def test_mixture(self):
        one, two = IndependentJoint(np.zeros((2, 2))), IndependentJoint(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="at least one"):
            MixtureJoint([], [])
        with pytest.raises(ValueError, match="same numbers"):
            MixtureJoint([0.5, 0.5], [one, two])
        for weights in ([0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0], [1.0]):
            with pytest.raises(ValueError, match="weights"):
                MixtureJoint(weights, [one, one])
