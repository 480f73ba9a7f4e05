"""Joint models over the held-out predictions of other classifiers.

`base_learner` fits any classifier to some of the labels, `cross_fitting` predicts each training row
by classifiers that have not seen it, and `joint_classifier_cv` fits a joint model to that.
"""
