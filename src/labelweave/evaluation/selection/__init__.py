"""The choice of a model, or of the weights of several, by what they make of held-out rows.

===============  =========================================================================
`candidates`     the models to choose from, and the portfolio
`trials`         what became of each, and what it makes of rows that it has not seen
`race`           candidates tried one after the other, the hopeless ones on one fold only
`pooling`        the weights of a mixture under which held-out rows are most probable
`best_joint`     the estimator
===============  =========================================================================
"""
