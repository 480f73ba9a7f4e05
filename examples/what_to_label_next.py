"""Which songs to label next: ``python examples/what_to_label_next.py``.

A model learns from 30 songs, asks for the labels of 20 more, learns again, and so on. Songs are
chosen at random, by the uncertainty of each label, or by the entropy of the whole label vector.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

import labelweave as lw
from labelweave.evaluation import row_uncertainty
from labelweave.metrics import METRICS

START, STEP, ROUNDS, REPEATS = 30, 20, 8, 10

train, test = lw.load("emotions").published_split()
scaler = StandardScaler().fit(train.X)
X, X_test = scaler.transform(train.X), scaler.transform(test.X)
model = lw.ClassifierChain(C=0.01, label_penalty=0.03)
strategies = {
    "random": lambda joint, rng: rng.random(joint.n_rows),
    "each label": lambda joint, rng: row_uncertainty(joint, "labels"),
    "whole vector": lambda joint, rng: row_uncertainty(joint, "entropy"),
}


def learning_curve(score, rng):
    """Return exact match and mean log-likelihood of the test songs after each round."""
    labelled = rng.permutation(len(X))[:START]
    results = []
    for _ in range(ROUNDS):
        model.fit(X[labelled], train.Y[labelled])
        joint = model.predict_joint(X_test)
        results.append(
            (METRICS["exact_match"](test.Y, model.predict(X_test)), joint.log_prob(test.Y).mean())
        )
        rest = np.setdiff1d(np.arange(len(X)), labelled)
        asked = np.argsort(-score(model.predict_joint(X[rest]), rng), kind="stable")[:STEP]
        labelled = np.concatenate([labelled, rest[asked]])
    return results


print("labelled songs       " + "".join(f"{START + STEP * i:>7}" for i in range(ROUNDS)))
for name, score in strategies.items():
    curves = [learning_curve(score, np.random.default_rng(seed)) for seed in range(REPEATS)]
    match, likelihood = np.mean(curves, axis=0).T
    print(f"{name:<14}match  " + "".join(f"{value:7.3f}" for value in match))
    print(f"{name:<14}log P  " + "".join(f"{value:7.2f}" for value in likelihood))
