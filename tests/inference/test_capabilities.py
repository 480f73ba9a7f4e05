"""Strategies ask what a joint can do, never what it is."""

import ast
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from labelweave import inference
from labelweave.inference import Auto, Exhaustive, Greedy, MeanField
from labelweave.joint import ChainJoint, JointDistribution, ListedJoint, capabilities
from tests.joint.cases import make

CAPABILITIES = {
    "ClosedMode": {"independent", "table", "listed", "forest"},
    "BoundedSearch": {"chain", "general", "field", "mixture"},
    "VectorLists": {
        *("independent", "table", "listed", "forest"),
        *("chain", "general", "field", "mixture"),
    },
    "ChainRule": {"chain", "general"},
    "Trees": {"independent", "forest", "field", "mixture"},
    "Powers": {
        *("independent", "table", "listed", "forest"),
        *("chain", "general", "field", "mixture", "tempered"),
    },
}
FORMS = sorted(set().union(*CAPABILITIES.values()))
STRATEGIES = [getattr(inference, name) for name in inference.__all__]


class Enumerable(JointDistribution):
    """A new form with nothing but what a form must provide: a table without its formulas."""

    def __init__(self, table):
        super().__init__(table.n_rows, table.n_labels)
        self.table = table

    def _take(self, index):
        part = super()._take(index)
        part.table = self.table[index]
        return part

    @property
    def known(self):
        return self.table.known

    def _log_prob(self, vectors):
        return self.table.log_prob(vectors)

    def _sample(self, k, seed):
        return self.table.sample(k, seed)

    def _table(self, free):
        return self.table._table(free)

    def _clamp(self, known):
        posterior, log_prob = self.table._clamp(known)
        return Enumerable(posterior), log_prob


def random_table(n, L, seed=0):
    scores = np.random.default_rng(seed).normal(scale=2.0, size=(n, 2**L))
    return ListedJoint.of_table(scores - logsumexp(scores, axis=1, keepdims=True))


@pytest.mark.parametrize("name", CAPABILITIES)
def test_forms_have_the_capabilities_that_are_documented(name):
    capability = getattr(capabilities, name)
    having = {form for form in FORMS if isinstance(make(form, 0, 2, 3)[0], capability)}
    assert having == CAPABILITIES[name]
    assert name in capabilities.__doc__


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_new_form_is_served_by_every_strategy(strategy):
    table = random_table(6, 4)
    joint = Enumerable(table)
    mode = strategy()(joint)
    np.testing.assert_allclose(mode.log_prob, table.log_prob(mode.labels))
    assert (mode.upper_bound >= table.mode().log_prob - 1e-12).all()


def test_a_new_form_has_every_quantity_and_posterior():
    table = random_table(6, 4)
    joint = Enumerable(table)
    np.testing.assert_allclose(joint.pairwise(), table.pairwise())
    np.testing.assert_array_equal(joint.top(5).labels, table.top(5).labels)
    given = {0: 1, 2: np.array([0, 1, -1, 0, 1, -1])}
    np.testing.assert_allclose(
        joint.condition(given).marginals(), table.condition(given).marginals(), atol=1e-12
    )


def test_what_a_new_form_lacks_is_named():
    table = random_table(1, 17)
    with pytest.raises(NotImplementedError, match=r"Enumerable\(.*\) has none: .*best_vectors"):
        Enumerable(table).top(2)


def test_a_strategy_without_a_fallback_names_what_is_missing_and_what_works():
    joint = ChainJoint.of_functions(lambda label, rows, prefix: np.zeros(len(rows)), 1, 2)
    with pytest.raises(
        ValueError,
        match=r"MeanField needs linear conditionals .*ChainJoint.* has none: .*Beam\(\)",
    ):
        MeanField()(joint)


@pytest.mark.parametrize("form", FORMS)
def test_auto_computes_nothing_that_it_throws_away(form, monkeypatch):
    """Few labels are settled by the form's own search: no greedy vector is asked for."""
    joint, _ = make(form, 3, 5, 4)
    expected = Exhaustive()(joint).log_prob
    monkeypatch.setattr(Greedy, "__call__", lambda self, joint: pytest.fail("greedy"))
    np.testing.assert_allclose(Auto()(joint).log_prob, expected, atol=1e-9)


def test_auto_computes_each_row_once(monkeypatch):
    """Rows with few unknown labels are enumerated, only the others are followed greedily."""
    monkeypatch.setattr("labelweave.inference.auto.MAX_SEARCHED", 3)
    joint = Enumerable(random_table(4, 4).condition({0: np.array([0, -1, 1, -1])}))
    searched = []
    for name in ("greedy_mode", "enumerated_mode"):
        module = "labelweave.inference.search"
        search = getattr(import_module(module), name)
        monkeypatch.setattr(
            f"{module}.{name}",
            lambda joint, name=name, search=search: (
                searched.append((name, joint.row_ids.tolist())) or search(joint)
            ),
        )
    Auto()(joint)
    assert sorted(searched) == [("enumerated_mode", [0, 2]), ("greedy_mode", [1, 3])]


def test_an_attribute_named_base_does_not_make_a_power():
    """A form may call its number system, or anything else, its base."""
    joint = Enumerable(random_table(3, 4))
    joint.base = 2
    expected = Exhaustive()(joint)
    np.testing.assert_array_equal(Auto()(joint).labels, expected.labels)
    np.testing.assert_array_equal(joint.mode().labels, expected.labels)


def test_strategies_use_only_what_joints_publish():
    """Private names are those of the strategy itself, or of modules beside it."""
    for path in Path(inference.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                assert ast.unparse(node.value) in ("self", "cls"), f"{path}: {ast.unparse(node)}"
