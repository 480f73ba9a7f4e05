"""The ground floor: what every other package of labelweave builds on.

Nothing here knows a model, a joint distribution or a data set. The modules are private to
labelweave, and the one private place that all its packages may import from.
"""
