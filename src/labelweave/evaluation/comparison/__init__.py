"""Comparison of methods: cross-validation on the same folds, and whether differences are chance.

`cross_validation` is where users come in; `splits` deals the folds, `fold_runs` fits and scores
one, `shared_fits` finds methods that one fit serves, `kept_folds` keeps what is done. `results` is
what comes out, `score_rows` its figures as they are written, `display` how it looks in a terminal
and in a notebook, `significance` and `ranks` hold the tests.
Users import from `labelweave.evaluation`.
"""
