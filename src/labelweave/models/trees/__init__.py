"""Tree networks: P(y|x) = Π_i P(y_i | x, y_parent(i)), each label with at most one parent.

`tree_network` is the estimator and `tree_ensemble` the average of many; `structure_learning` weighs
edges by held-out log-likelihood and takes the maximum branching (`branching`, Edmonds' algorithm);
`structure` is the learned forest as a value, drawn by `plot`. Users import from
`labelweave.models`.
"""
