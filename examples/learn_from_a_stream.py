"""Learn in one pass and go on later: ``python examples/learn_from_a_stream.py``."""

from sklearn.metrics import f1_score

import labelweave as lw

data = lw.load("yeast")  # 2,417 genes, 103 features, 14 functional classes
model = lw.BayesianOnlineClassifier(random_state=0)
for first in range(0, 2000, 250):
    batch = slice(first, first + 250)
    model.partial_fit(data.X[batch], data.Y[batch])
    predicted = model.predict(data.X[2000:])
    score = f1_score(data.Y[2000:], predicted, average="micro", zero_division=0)
    print(f"{first + 250:>5} rows: micro F1 {score:.3f}")
