"""How labels depend on each other, in data and under a model.

`pairwise` measures pairs, `label_forest` finds the best forest of them, `label_dependence` is what
users see. Users import from `labelweave.evaluation`.
"""
