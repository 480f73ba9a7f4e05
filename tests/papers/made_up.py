"""Results that no machine measured, for the predicates of claims."""

from labelweave.papers.plan import Task
from labelweave.papers.results import Record, Results

# Folds differ a little, and not alike for two methods.
WIGGLE = (0.0, 0.004, -0.004, 0.002, -0.002, 0.001, -0.001, 0.003, -0.003, 0.0)


def folds(scores, metric, n_folds=10, **settings):
    """Make ten folds of each ``scores[data][method]``; a number may be a dict of metrics."""
    records = []
    for data, by_method in scores.items():
        for place, (method, score) in enumerate(by_method.items()):
            for fold in range(n_folds):
                shift = WIGGLE[(fold + 3 * place) % len(WIGGLE)]
                values = score if isinstance(score, dict) else {metric: score}
                values = {name: value + shift for name, value in values.items()}
                task = Task("fold", data, method, fold, 0, settings)
                records.append(Record(task, values, 1.0))
    return Results(tuple(records))


def single(measurement, data, method, values, **settings):
    """Make one record of another measurement."""
    return Results((Record(Task(measurement, data, method, 0, 0, settings), values, 1.0),))


def merged(*parts):
    return Results(tuple(record for part in parts for record in part.records))
