"""The order of a chain's labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from labelweave import BinaryRelevance, ClassifierChain
from labelweave.models.chains import resolve_order
from tests.contract.samples import sample

X, Y = sample(n=80)
NAMED = pd.DataFrame(Y, columns=list("abcd"))


def test_positions_and_names_mean_the_same():
    by_name = ClassifierChain(C=1.0, order=["c", "a", "d", "b"]).fit(X, NAMED)
    by_position = ClassifierChain(C=1.0, order=np.array([2, 0, 3, 1])).fit(X, Y)
    np.testing.assert_array_equal(by_name.order_, [2, 0, 3, 1])
    np.testing.assert_array_equal(by_name.predict_proba(X), by_position.predict_proba(X))


def test_an_order_is_the_same_as_moving_the_columns():
    order = [2, 0, 3, 1]
    settings = {"C": 1.0, "label_penalty": 0.1}
    ordered = ClassifierChain(order=order, **settings).fit(X, Y)
    moved = ClassifierChain(**settings).fit(X, Y[:, order])
    np.testing.assert_allclose(
        ordered.predict_joint(X).log_prob(Y), moved.predict_joint(X).log_prob(Y[:, order])
    )
    np.testing.assert_array_equal(ordered.predict(X)[:, order], moved.predict(X))
    np.testing.assert_allclose(ordered.predict_proba(X)[:, order], moved.predict_proba(X))


def test_a_label_depends_on_earlier_labels_only():
    model = ClassifierChain(C=1.0, order=[2, 0, 3, 1]).fit(X, Y)
    along = model.conditionals_.coupling[np.ix_(model.order_, model.order_)]
    np.testing.assert_array_equal(np.triu(along), 0.0)
    assert (along[np.tril_indices(4, -1)] != 0).all()


def test_columns_of_binary_relevance_do_not_meet():
    order = [3, 1, 0, 2]
    first = BinaryRelevance(C=1.0).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(
        BinaryRelevance(C=1.0).fit(X, Y[:, order]).predict_proba(X), first[:, order]
    )
    alone = BinaryRelevance(C=1.0).fit(X, Y[:, [2]]).predict_proba(X)
    np.testing.assert_allclose(alone[:, 0], first[:, 2], atol=1e-9)


def test_random_orders_follow_the_seed():
    orders = {seed: tuple(resolve_order("random", 12, None, seed)) for seed in (0, 1, 2, 3)}
    assert all(sorted(order) == list(range(12)) for order in orders.values())
    assert len(set(orders.values())) == 4
    assert orders[2] == tuple(resolve_order("random", 12, None, 2))
    model = ClassifierChain(C=1.0, order="random", random_state=5)
    np.testing.assert_array_equal(clone(model).fit(X, Y).order_, model.fit(X, Y).order_)
    drawn = {
        tuple(ClassifierChain(C=1.0, order="random", random_state=s).fit(X, Y).order_)
        for s in range(6)
    }
    assert len(drawn) > 1


@pytest.mark.parametrize("order", [["a", 1, "c", 3], ("a", "b", "c", "d"), [0, 1, 2, 3], None])
def test_the_order_of_the_file(order):
    np.testing.assert_array_equal(
        ClassifierChain(C=1.0, order=order).fit(X, NAMED).order_, [0, 1, 2, 3]
    )
