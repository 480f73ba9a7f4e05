"""Many penalised logistic regressions that share X, solved at once (math.md, section 1).

The engine is private: estimators call it.
"""
