"""Every estimator: models of P(y|x), what wraps them, the online learner and the papers' rivals."""
