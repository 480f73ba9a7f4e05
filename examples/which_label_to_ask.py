"""Which single label to ask an expert for: ``python examples/which_label_to_ask.py``.

Each gene of the test set may have one of its labels looked up; the model predicts the others given
the answer. Asking for the most uncertain label reveals most about the whole vector (log P). Adding
the information of a label about the others reveals most about all labels one by one (Hamming loss).
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

import labelweave as lw
from labelweave.evaluation import information_about_others, label_uncertainty
from labelweave.metrics import METRICS

train, test = lw.load("yeast").published_split()
scaler = StandardScaler().fit(train.X)
model = lw.TreeNetwork(C=0.01, label_penalty=0.03).fit(scaler.transform(train.X), train.Y)
joint = model.predict_joint(scaler.transform(test.X))

own, others = label_uncertainty(joint), information_about_others(joint)
scores = {
    "any label": np.random.default_rng(0).random(own.shape),
    "the most uncertain": own,
    "and about the others": own + others,
}
print(f"{'asked for':<22}{'Hamming loss':>12}{'log P':>8}")
for name, score in scores.items():
    asked = score.argmax(axis=1)
    answers = {j: np.where(asked == j, test.Y[:, j], -1) for j in range(joint.n_labels)}
    known = joint.condition(answers)
    predicted = known.decide("hamming").labels
    loss, log_prob = METRICS["hamming_loss"](test.Y, predicted), known.log_prob(test.Y).mean()
    print(f"{name:<22}{loss:12.3f}{log_prob:8.2f}")
