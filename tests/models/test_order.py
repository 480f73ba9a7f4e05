"""Orders of chains."""

import numpy as np
import pandas as pd
import pytest

from labelweave import ClassifierChain
from labelweave._common.folds import assign_folds
from labelweave.data import make_synthetic
from labelweave.logistic.conditionals import LabelGraph, fit_conditionals, structure_losses
from labelweave.logistic.penalties import repeat_seeds
from labelweave.models.chains import candidate_orders, resolve_order


def test_earlier_labels_follow_the_order():
    before = np.asarray(LabelGraph.chain(np.array([2, 0, 1])))
    assert before.tolist() == [
        [False, False, True],
        [True, False, True],
        [False, False, False],
    ]


def test_candidates_are_distinct_permutations():
    labels = np.random.default_rng(0).integers(0, 2, (50, 7)).astype(np.int8)
    orders = candidate_orders(labels, seed=1)
    assert all(sorted(order) == list(range(7)) for order in orders)
    assert len({tuple(order) for order in orders}) == len(orders) == 10
    assert len(candidate_orders(labels[:, :1], seed=1)) == 1


def test_auto_takes_the_candidate_with_the_best_held_out_likelihood():
    data = make_synthetic("chain", 400, 6, 5, random_state=0)
    model = ClassifierChain(C=1.0, label_penalty=0.1, order="auto").fit(data.X, data.Y)
    orders = candidate_orders(data.Y.astype(np.int8), seed=model._seed())
    losses = structure_losses(
        data.X,
        data.Y,
        [LabelGraph.chain(o) for o in orders],
        C=1.0,
        label_penalty=0.1,
        seed=model._seed(),
    )
    assert model.order_.tolist() == orders[int(losses.argmin())].tolist()
    assert losses.min() < losses.max()


def test_structure_losses_are_those_of_explicit_folds():
    data = make_synthetic("chain", 60, 3, 3, random_state=1)
    structure = LabelGraph.chain(np.arange(3))
    seeds = repeat_seeds(data.X, np.ones(60), 0)
    expected = 0.0
    for seed in seeds:
        fold, n_folds = assign_folds(data.X, np.ones(60), 3, seed)
        for f in range(n_folds):
            inside = fold != f
            model = fit_conditionals(
                data.X[inside], data.Y[inside], structure, C=1.0, label_penalty=0.1
            )
            z = model.scores(data.X[~inside]) + data.Y[~inside] @ model.coupling.T
            expected += (np.logaddexp(0, z) - data.Y[~inside] * z).sum()
    [loss] = structure_losses(data.X, data.Y, [structure], C=1.0, label_penalty=0.1)
    assert loss == pytest.approx(expected / len(seeds), rel=1e-3)


def test_names_and_random_orders():
    assert resolve_order(["b", "a"], 2, ("a", "b"), 0).tolist() == [1, 0]
    random = resolve_order("random", 8, None, 5)
    assert sorted(random) == list(range(8))
    assert random.tolist() == resolve_order("random", 8, None, 5).tolist()
    Y = pd.DataFrame({"a": [0, 1, 0, 1], "b": [1, 1, 0, 0]})
    model = ClassifierChain(C=1.0, label_penalty=1.0, order=["b", "a"]).fit(np.eye(4), Y)
    assert model.order_.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("sorted", "order must be None, 'random', 'auto'"),
        ([0, 0], "order must name each of the 2 labels once"),
        ([0], "order must name each of the 2 labels once"),
        (["a", "c"], "unknown label 'c'"),
        ([True, False], "unknown label True"),
    ],
)
def test_bad_orders_are_explained(order, message):
    with pytest.raises(ValueError, match=message):
        resolve_order(order, 2, ("a", "b"), 0)
