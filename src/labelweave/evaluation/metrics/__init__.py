"""Metrics: `registry` knows them all by name, the other modules compute them.

`classification` compares labels, `ranking` scores, `likelihood` probabilities of label vectors;
`reliability` shows whether probabilities come true, `per_label` what a model does to each label.
Users import from `labelweave.evaluation`.
"""
