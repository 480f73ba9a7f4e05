"""Comparisons with figures written by hand, for tests of what is made from them."""

from labelweave.evaluation import Comparison
from labelweave.evaluation.results import DataSummary, FoldResult


def comparison(figures, *, fold_sizes=None, seconds=(1.0, 0.25), errors=(), name="toy"):
    """Build a Comparison from {method: {metric: [figure per fold]}}."""
    n_folds = len(next(iter(next(iter(figures.values())).values())))
    metrics = tuple(dict.fromkeys(metric for by_metric in figures.values() for metric in by_metric))
    results = []
    for method, by_metric in figures.items():
        for fold in range(n_folds):
            if (method, fold) in errors:
                results.append(FoldResult(method, fold, error="ValueError: broken"))
                continue
            scores = {metric: values[fold] for metric, values in by_metric.items()}
            results.append(FoldResult(method, fold, scores, *seconds))
    return Comparison(
        data=DataSummary(name, 100, 5, 3),
        splitter="KFold(n_splits=10, random_state=0, shuffle=True)",
        fold_sizes=fold_sizes or ((90, 10),) * n_folds,
        scale="auto",
        metrics=metrics,
        methods={method: f"{method}()" for method in figures},
        results=tuple(results),
        versions={"labelweave": "0.1.0"},
    )
