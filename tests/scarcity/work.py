"""Short pieces of work for every way that kernels share it among threads."""

from __future__ import annotations

import numpy as np

from labelweave import BinaryRelevance, LaSVM, PairwiseCRF, PassiveAggressive, TreeNetwork
from labelweave.inference import Annealing, BestFirst
from labelweave.joint import ChainJoint, MixtureJoint, TreeJoint
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState

THREADS = 4
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 20))
Y = (X[:, :6] + rng.normal(size=(300, 6)) > 0).astype(np.int8)
MANY = (X @ rng.normal(size=(20, 200)) > 1).astype(np.int8)


def chain() -> ChainJoint:
    coupling = np.tril(np.random.default_rng(1).normal(size=(12, 12)), -1)
    scores = np.random.default_rng(2).normal(size=(60, 12))
    return ChainJoint(scores, coupling, n_threads=THREADS)


def mixture() -> MixtureJoint:
    draw = np.random.default_rng(3)
    parents = np.array([-1, 0, 0, 1, 1, 2, 2])
    trees = [TreeJoint(draw.normal(size=(40, 7, 2)), parents, n_threads=THREADS) for _ in range(3)]
    return MixtureJoint(np.full((40, 3), 1 / 3), trees, n_threads=THREADS)


def online(coupled: bool, forgetting: float) -> list[np.ndarray]:
    settings = ProbitModel.of(coupled=coupled, forgetting=forgetting)
    state = OnlineState(20, 200, model=settings)
    for begin in range(0, 300, 60):  # enough calls for threads to be tried
        state.update(X[begin : begin + 60], MANY[begin : begin + 60], THREADS)
    return list(state.to_arrays().values())


def predictions() -> list[np.ndarray]:
    state = OnlineState(20, 200)
    state.update(X[:50], MANY[:50])
    return [*state.moments(X, THREADS), state.sample_labels(X[:50], 3, 0, THREADS)]


def decisions(model) -> list[np.ndarray]:
    return [model.fit(X, Y).decision_function(X)]


def probabilities(model) -> list[np.ndarray]:
    return [model.fit(X, Y).predict_proba(X)]


#: What to do, by name; every piece returns arrays that must not depend on threads.
WORK = {
    "logistic": lambda: probabilities(BinaryRelevance(C=1.0, n_jobs=THREADS)),
    "edges": lambda: probabilities(TreeNetwork(C=1.0, label_penalty=0.1, n_jobs=THREADS)),
    "field": lambda: probabilities(PairwiseCRF(C=1.0, n_jobs=THREADS)),
    "lasvm": lambda: decisions(LaSVM(C=1.0, decision="fixed", n_jobs=THREADS)),
    "passive": lambda: decisions(PassiveAggressive(C=1.0, decision="fixed", n_jobs=THREADS)),
    "search": lambda: [chain().mode(BestFirst()).labels],
    "chain": lambda: [chain().marginals(), chain().sample(3, random_state=0)],
    "top": lambda: [mixture().top(3).labels],
    "threshold": lambda: [mixture().mode(BestFirst(10_000)).labels],
    "annealing": lambda: [mixture().mode(Annealing(steps=50, random_state=0)).labels],
    "coupled": lambda: online(coupled=True, forgetting=0.0),
    "forgetting": lambda: online(coupled=True, forgetting=0.01),
    "alone": lambda: online(coupled=False, forgetting=0.0),
    "answers": predictions,
}
