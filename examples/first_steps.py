"""Fit a classifier chain and ask its joint distribution: ``python examples/first_steps.py``."""

from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import labelweave as lw

data = lw.load("emotions")  # 593 songs, 72 features, 6 emotions
X, X_test, Y, Y_test = train_test_split(data.X, data.Y, random_state=0)
scaler = StandardScaler().fit(X)
model = lw.ClassifierChain(random_state=0).fit(scaler.transform(X), Y)

joint = model.predict_joint(scaler.transform(X_test))
mode = joint.mode()
print(f"exact match: {(mode.labels == Y_test).all(axis=1).mean():.3f}")
print(f"proven modes: {mode.optimal.mean():.0%}")
print(f"CLL-loss per row: {-joint.log_prob(Y_test).mean():.3f}")
