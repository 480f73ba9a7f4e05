"""How a known label changes the others: ``python examples/given_this_label.py``."""

import numpy as np
from sklearn.preprocessing import StandardScaler

import labelweave as lw

data = lw.load("emotions")
X = StandardScaler().fit_transform(data.X)
model = lw.TreeNetwork(random_state=0).fit(X, data.Y)

song = model.predict_joint(X[:1])
known = song.condition({0: 1})
for name, before, after in zip(
    data.label_names, song.marginals()[0], known.marginals()[0], strict=True
):
    print(f"{name:<20} {before:.2f} -> {after:.2f} given {data.label_names[0]}")

best = known.top(3)
for labels, log_prob in zip(best.labels[0], best.log_prob[0], strict=True):
    names = [data.label_names[j] for j in np.flatnonzero(labels)]
    print(f"{np.exp(log_prob):.2f}  {', '.join(names)}")
