"""Sets of label vectors that contain the true one as often as asked.

`conformal_classifier` is the estimator, `nonconformity` the score of a label vector and its
quantile, `cross_conformal` the sets of several folds' models. Users import from
`labelweave.evaluation`.
"""
