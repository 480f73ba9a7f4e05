"""Forests whose leaves hold label vectors.

======================  ==========================================================================
`leaf_mates`            the label vectors of the training rows that share a row's leaves
`training_rows`         rows with their place in the list of vectors
`smoothing`             how much probability vectors get that no leaf mate has
`projected_trees`       trees for many labels, grown on random projections of them
`distributional_forest` the estimator
======================  ==========================================================================
"""
