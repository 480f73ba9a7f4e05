"""Tables for README.md and docs that put together the results of several benchmarks."""

from __future__ import annotations

import numpy as np

from benchmarks import strong_learners, weave
from benchmarks.tables import Rows, kept
from labelweave.evaluation import paired_t_test

DENSE = ("emotions", "scene", "yeast", "image")
SPARSE = ("slashdot", "enron", "rcv1subset1", "tmc2007-500", "corel5k")
POOL = strong_learners.POOL
#: Rows of the tables of accuracy, and the names under which the folds are kept.
MODELS = {
    "`best(pool=True)`": POOL,
    "`forest(bootstrap=False)`": "forest(bootstrap=False)",
    "`weave`": "weave(passthrough='auto')",
    "`forest`": "forest",
    "`auto`, a linear chain": "auto",
    "scikit-learn's forests in a greedy chain": "greedy chain over RandomForest(100)",
    "gradient boosting, label by label": "HistGradientBoosting per label",
    "scikit-learn's `ExtraTreesClassifier`": "ExtraTrees(300)",
    "scikit-learn's `RandomForestClassifier`": "RandomForest(300)",
    "ML-kNN": "ML-kNN",
    "BOOMER": "BOOMER, label-wise loss",
    "dacaf-mlc": "dacaf-mlc",
}
#: Highest exact match and example F1 that papers report, under other protocols.
PUBLISHED = {
    "emotions": (0.374, 0.693),
    "scene": (0.711, 0.806),
    "yeast": (0.239, 0.668),
    "enron": (0.167, 0.610),
    "slashdot": (0.446, 0.540),
    "corel5k": (0.040, 0.241),
    "tmc2007-500": (0.506, 0.786),
}


def table(name: str) -> Rows:
    """Return a table by its name."""
    tables = {
        "accuracy, dense": lambda: accuracy(DENSE),
        "accuracy, sparse": lambda: accuracy(SPARSE),
        "published": published,
        "woven": woven,
        "measured": measured,
    }
    return tables[name]()


def _means(data: str, method: str) -> dict[str, float]:
    """Return the mean of each measure over the folds; gradient boosting has two libraries."""
    records = strong_learners.kept_records()
    folds = list(strong_learners._folds(data, method, records).values())
    if method == "HistGradientBoosting per label" and len(folds) < 2:
        folds = list(strong_learners._folds(data, "LightGBM per label", records).values())
    measures = set.intersection(*(set(each["scores"]) for each in folds)) if folds else ()
    return {name: float(np.mean([each["scores"][name] for each in folds])) for name in measures}


def accuracy(data: tuple[str, ...]) -> Rows:
    """Return exact match / CLL-loss per row of our models and of others."""
    rows = [["", *data]]
    for title, method in MODELS.items():
        cells = [_means(each, method) for each in data]
        if all(cells):
            rows.append([title, *map(_pair, cells)])
    return rows


def _pair(means: dict[str, float]) -> str:
    exact, loss = _short(means["exact_match"]), means.get(strong_learners.LOSS)
    return exact if loss is None else f"{exact} / {loss:.{2 if loss < 10 else 1}f}"


def _short(value: float) -> str:
    """Return a share of rows without its leading zero."""
    return f"{value:.3f}".removeprefix("0")


def published() -> Rows:
    """Return exact match / example F1 of papers and of the pool."""
    pool = [_means(data, POOL) for data in PUBLISHED]
    ours = [f"{_short(m['exact_match'])} / {_short(m['f1_example'])}" for m in pool]
    return [
        ["exact match / example F1", *PUBLISHED],
        ["published", *(" / ".join(map(_short, pair)) for pair in PUBLISHED.values())],
        ["`best(pool=True)`", *ours],
    ]


def woven() -> Rows:
    """Return exact match of classifiers alone → under a joint model; bold: significantly better."""
    rows = [["", *weave.BASES]]
    for data in (*DENSE, *SPARSE):
        cells = []
        for base in weave.BASES:
            pairs = weave.pairs_of(data, base)
            scores = [[each["scores"]["exact_match"] for each in pair] for pair in pairs]
            alone, under = np.array(scores).T
            better = paired_t_test(under, alone).standing(higher_is_better=True) == "better"
            mark = "**" if better else ""
            cells.append(f"{_short(alone.mean())} → {mark}{_short(under.mean())}{mark}")
        rows.append([data, *cells])
    return rows


def measured() -> Rows:
    """Return what labelweave does and other libraries do not, with the figures that show it."""
    return [
        ["", "measured"],
        ["The most probable label vector, with a proof", _proofs()],
        ["Known labels improve the prediction of the others", _evidence()],
        ["A joint distribution over the predictions of any classifier", _lifts()],
        ["A pool of models, weighted by held-out likelihood", _pool()],
        ["The best labels for the loss you care about", _decisions()],
        ["Sets of label vectors with guaranteed coverage", _sets()],
        ["The logistic regressions of all labels, fitted at once", _engine()],
        ["One pass over a stream, a posterior over every weight", _online()],
    ]


def _proofs() -> str:
    rows = _rows("search", "v3", "chains")
    proven = min(_number(row[3]) for row in rows)
    missed = max(_number(row[4]) for row in rows)
    return (
        f"{proven:.0f} % of the vectors proven on {len(rows)} data sets, in {rows[0][6]} a row "
        f"(6 labels) to {rows[-1][6]} ({rows[-1][1]} labels); greedy chains miss up to "
        f"{missed:.0f} % of them"
    )


def _evidence() -> str:
    rows = {(row[0], row[2]): row for row in _rows("evidence", "any", "known labels")}
    chain, independent = (100 * _number(rows["yeast", each][7]) for each in ("chain", "`br`"))
    return (
        f"8 of the 14 labels of yeast known: a chain has the other six right in {chain:.0f} % of "
        f"the rows, independent labels in {independent:.0f} %"
    )


def _lifts() -> str:
    cells = [cell for row in woven()[1:] for cell in row[1:]]
    return (
        f"higher exact match in {sum('**' in cell for cell in cells)} of {len(cells)} cases "
        f"({len(weave.BASES)} classifiers, {len(woven()) - 1} data sets), significantly so"
    )


def _pool() -> str:
    data = (*DENSE, *SPARSE)
    ahead = sum(_is_ahead(each) for each in data)
    return (
        "higher exact match and likelihood than forests, boosting, ML-kNN, BOOMER and dacaf-mlc "
        f"on {ahead} of {len(data)} data sets"
    )


def _is_ahead(data: str) -> bool:
    pool = _means(data, POOL)
    rivals = [means for each in strong_learners.RIVALS if (means := _means(data, each))]
    exact = max(each["exact_match"] for each in rivals)
    loss = min(each.get(strong_learners.LOSS, np.inf) for each in rivals)
    return pool["exact_match"] > exact and pool[strong_learners.LOSS] < loss


def _decisions() -> str:
    ratio = _number(_rows("f_measure", "v3", "dacaf")[0][2].split("**")[1])
    return f"labels of the highest expected F1, {ratio:.0f} times as fast as dacaf-mlc"


def _sets() -> str:
    rows = [row for row in _rows("conformal", "any", "sets") if "held out" in row[2]]
    coverage = [_number(row[4].split(" ± ")[0]) for row in rows if row[1] == "chain"]
    sizes = {row[1]: _number(row[4].split(" / ")[1]) for row in rows if row[0] == "yeast"}
    return (
        f"90 % asked for, {100 * min(coverage):.1f} to {100 * max(coverage):.1f} % measured; on "
        f"yeast {sizes['chain']:.0f} vectors a set, {sizes['`br`']:.0f} with independent labels"
    )


def _engine() -> str:
    ratios = [_number(row[4]) for row in _rows("logistic", "v3", "summary")]
    return (
        f"{min(ratios):.0f} to {max(ratios):.0f} times as fast as scikit-learn's fastest solver, "
        "at equal accuracy on two cores"
    )


def _online() -> str:
    rows = {row[0]: row for row in _rows("online", "v3", "speed")}
    ours, theirs = rows["coupled, 1 thread"], rows["Vowpal Wabbit, 2^23 weights"]
    return (
        f"{ours[1]} documents a second with 101 labels on one core, {_number(theirs[3]):.1f} times "
        "as fast as Vowpal Wabbit"
    )


def _rows(topic: str, level: str, name: str) -> Rows:
    """Return the rows of a kept table without its head."""
    rows: Rows = kept(topic)[level]["tables"][name][1:]
    return rows


def _number(cell: str) -> float:
    return float(cell.strip("*×%"))
