"""Print, as JSON, results of all large kernels at the SIMD level in use.

One result for each number of threads among the arguments; run by test_levels.py.
"""

import json
import sys

import numpy as np

from labelweave import BayesianOnlineClassifier, ClassifierChain, TreeNetwork
from labelweave._core import native
from labelweave.inference import Gibbs
from labelweave.logistic.edges import edge_weights
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.logistic.make import solve

# Settings that lead through all kernels of online learning.
ONLINE = {
    "online-coupled": {},
    "online-independent": {"coupled": False},
    "online-flips": {"flip_probability": 0.1, "margin": 0.3},
    "online-drift": {"forgetting": 0.01},
}


def posterior(X, Y, options, n_threads):
    """All numbers of a posterior, and draws from it."""
    state = OnlineState(X.shape[1], Y.shape[1], model=ProbitModel.of(**options))
    state.update(np.tile(X, (5, 1)), np.tile(Y, (5, 1)), n_threads)
    arrays = [array.ravel() for array in state.to_arrays().values()]
    drawn = state.sample_labels(X, 3, seed=0, n_threads=n_threads).ravel()
    return np.concatenate([*arrays, drawn]).astype(np.float64)


def results(n_threads):
    """Results by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 13))
    Y = (X @ rng.normal(size=(13, 9)) + rng.normal(size=(300, 9)) > 1).astype(np.int8)
    penalties = {"C": 1.0, "label_penalty": 0.1}
    solution = solve(X, Y, C=1.0, tol=1e-12, n_threads=n_threads)
    chain = ClassifierChain(**penalties, n_jobs=n_threads).fit(X, Y).predict_joint(X)
    tree = TreeNetwork(**penalties, n_jobs=n_threads).fit(X, Y).predict_joint(X)
    online = BayesianOnlineClassifier(n_jobs=n_threads).fit(X, Y)
    posteriors = {name: posterior(X, Y, options, n_threads) for name, options in ONLINE.items()}
    edges = edge_weights(X, Y, **penalties, held_out=np.arange(300) % 3 == 0, n_threads=n_threads)
    return {
        "level": native.level(),
        "coef": solution.coef,
        "edges": edges.pair,
        "mode": chain.mode().log_prob,
        "gibbs": Gibbs(sweeps=20, random_state=0)(chain).log_prob,
        "marginals": chain.marginals(),
        "pairwise": tree.pairwise()[:5],
        "cardinality": tree.cardinality(),
        "online": online.predict_proba(X),
        **posteriors,
    }


if __name__ == "__main__":
    by_threads = [results(int(n_threads)) for n_threads in sys.argv[1:]]
    json.dump(by_threads, sys.stdout, default=np.ndarray.tolist)
