"""Classifier chains: P(y|x) = Π_j P(y_j | x, labels before j), by the chain rule.

`classifier_chain` is the estimator and `chain_ensemble` the average of many; `order` resolves and
chooses the order of the labels. Users import from `labelweave.models`.
"""
