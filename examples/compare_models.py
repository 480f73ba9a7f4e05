"""Compare models on the same folds: ``python examples/compare_models.py``."""

import labelweave as lw
from labelweave.inference import Greedy

data = lw.load("emotions")
methods = {
    "independent": lw.BinaryRelevance(random_state=0),
    "greedy chain": lw.ClassifierChain(inference=Greedy(), random_state=0),
    "exact chain": lw.ClassifierChain(random_state=0),
}
print(lw.compare(methods, data.X, data.Y, cv=3, metrics=("exact_match", "f1_micro")))
