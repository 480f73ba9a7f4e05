"""Calibration of estimators of P(y|x), on rows that they have not seen.

`calibrated_joint` is the estimator; `held_out_joints` holds the rows out, `temperature` calibrates
joint distributions and `marginal_calibration` marginals. Users import from `labelweave.evaluation`.
"""
