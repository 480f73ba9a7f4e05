"""Synthetic data: seeded, true to its joint, and a fair judge of predictions."""

import numpy as np
import pytest

from labelweave.data import make_synthetic
from labelweave.decision import HammingLoss, SubsetLoss
from labelweave.inference import Greedy
from labelweave.joint import ChainJoint, MixtureJoint

kinds = pytest.mark.parametrize("kind", ["chain", "tree", "mixture"])


@kinds
def test_shapes_and_seeds(kind):
    data = make_synthetic(kind, 30, 4, 6, random_state=1)
    assert data.X.shape == (30, 4)
    assert data.Y.shape == (30, 6)
    assert data.Y.dtype == np.int8
    again, other = (
        make_synthetic(kind, 30, 4, 6, random_state=1),
        make_synthetic(kind, 30, 4, 6, random_state=2),
    )
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.Y, again.Y)
    np.testing.assert_array_equal(data.joint.marginals(), again.joint.marginals())
    assert (data.X != other.X).all()


@kinds
def test_labels_follow_the_joint(kind):
    data = make_synthetic(kind, 4000, 3, 4, random_state=0)
    marginals = data.joint.marginals()
    # Mean of independent, differently distributed labels: five standard errors.
    error = np.sqrt((marginals * (1 - marginals)).sum(axis=0)) / 4000
    assert (np.abs(data.Y.mean(axis=0) - marginals.mean(axis=0)) <= 5 * error).all()
    pairs = np.einsum("ni,nj->ij", data.Y.astype(float), data.Y) / 4000
    np.testing.assert_allclose(pairs, data.joint.pairwise().mean(axis=0), atol=0.04)
    surprise = -data.joint.log_prob(data.Y).mean()
    assert abs(surprise - data.joint.entropy().mean()) < 0.1


@kinds
def test_joint_of_new_features(kind):
    data = make_synthetic(kind, 20, 3, 4, random_state=0)
    np.testing.assert_array_equal(data.joint_of(data.X).marginals(), data.joint.marginals())
    np.testing.assert_allclose(data.joint_of(data.X[5:7]).marginals(), data.joint.marginals()[5:7])
    with pytest.raises(ValueError, match="3 columns"):
        data.joint_of(np.zeros((2, 4)))


@kinds
@pytest.mark.parametrize("loss", [SubsetLoss(), HammingLoss()])
def test_regret_is_zero_only_for_the_bayes_optimum(kind, loss):
    data = make_synthetic(kind, 50, 3, 4, random_state=0)
    best = loss(data.joint)
    assert data.regret(best, loss) == 0.0
    for labels in (data.Y, 1 - best, data.joint.mode(Greedy()).labels):
        assert data.regret(labels, loss) >= 0
    assert data.regret(1 - best, loss) > 0.1
    X = np.random.default_rng(9).normal(size=(10, 3))
    assert data.regret(loss(data.joint_of(X)), loss, X=X) == 0.0


def test_labels_depend_on_each_other_and_on_the_features():
    for data in (
        make_synthetic("chain", 200, random_state=0),
        make_synthetic("tree", 200, random_state=0),
    ):
        marginals, pairs = data.joint.marginals(), data.joint.pairwise()
        product = marginals[:, :, None] * marginals[:, None, :]
        off_diagonal = ~np.eye(data.joint.n_labels, dtype=bool)
        assert np.abs(pairs - product)[:, off_diagonal].max() > 0.1
        assert marginals.std(axis=0).min() > 0.05


def test_forms():
    chain = make_synthetic("chain", 5, density=0.0, random_state=0).joint
    assert isinstance(chain, ChainJoint)
    assert (chain.conditionals.linear[1] == 0).all()
    tree = make_synthetic("tree", 5, n_labels=7, random_state=0).joint
    assert ((tree.conditionals.linear[1] != 0).sum(axis=1) <= 1).all()
    mixture = make_synthetic("mixture", 5, n_components=4, random_state=0).joint
    assert isinstance(mixture, MixtureJoint)
    assert mixture.weights.shape == (5, 4)
    assert make_synthetic("tree", 5, n_labels=1, random_state=0).Y.shape == (5, 1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: make_synthetic("chain", 0), "n_samples"),
        (lambda: make_synthetic("tree", 5, n_features=0), "n_features"),
        (lambda: make_synthetic("mixture", 5, n_labels=0), "n_labels"),
        (lambda: make_synthetic("mixture", 5, n_components=0), "n_components"),
        (lambda: make_synthetic("chain", 5, density=1.5), "density"),
        (lambda: make_synthetic("forest"), "kind"),
    ],
)
def test_bad_sizes(call, name):
    with pytest.raises(ValueError, match=name):
        call()
