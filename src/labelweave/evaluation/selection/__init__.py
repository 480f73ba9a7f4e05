"""The choice of a model, or of the weights of several, by what they make of held-out rows.

===============  =========================================================================
`trials`         candidates, and the rows that each predicts without having seen them
`pooling`        the weights of a mixture of models that make held-out rows most probable
`best_joint`     the estimator
===============  =========================================================================
"""
