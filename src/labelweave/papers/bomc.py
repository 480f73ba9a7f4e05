"""BOMC, Bayesian online learning of a stream: figures 4 to 7 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.papers.plan import Experiment, read_paper
from labelweave.papers.results import Results, mean_and_deviation
from labelweave.report.document import Block, Cell, LineChart, Paragraph, Section, Series, Table

DATA = "rcv1"
SIZES = (1000, 2000, 5000, 10_000, 22_090)
_N_SPLITS, _N_TIMED = 5, 3

CMN, SAMPLE = "bomc-cmn(preset='published')", "bomc-sample(preset='published')"
IND_CMN, IND_SAMPLE = "bomc-ind-cmn(preset='published')", "bomc-ind-sample(preset='published')"
OUR_CMN, OUR_SAMPLE = "bomc-cmn", "bomc-sample"
OUR_IND_CMN, OUR_IND_SAMPLE = "bomc-ind-cmn", "bomc-ind-sample"
PA_ONLINE, PA_BATCH, SVM = "pa-online", "pa-batch(C='scale')", "svm(C='scale')"
LASVM = "lasvm(cv=3)"  # thresholds by three folds instead of five take half the time
#: Only the final model, without the cross-validation that tunes thresholds.
LASVM_ALONE, SVM_ALONE = "lasvm(decision='fixed')", "svm(C='scale',decision='fixed')"
PA_ALONE = "pa-online(C='scale',decision='fixed')"
#: With class weights instead of tuned thresholds.
SVM_WEIGHTED = "svm(C='scale',class_weight='balanced')"
#: Without wider margins and without thresholds for rare labels.
NO_HEURISTIC = "bomc-cmn(preset='published',skew_margin=False,decision='fixed')"
#: The paper gives N(0, 10^4) for the global bias only; local ones may have N(0, 1), as weights do.
NARROW_CMN = "bomc-ind-cmn(preset='published',bias_variance=1)"
SAMPLES = {n: f"bomc-sample(preset='published',samples={n})" for n in (5, 10, 20)}

PAPER = read_paper("bomc")

# LaSVM's time grows with nearly the square of the documents: 22,090 would take over an hour.
_AT_MOST = {LASVM: 10_000, LASVM_ALONE: 10_000}
_PUBLISHED_BOMC = (CMN, SAMPLE, IND_CMN, IND_SAMPLE)
_OUR_BOMC = (OUR_CMN, OUR_SAMPLE, OUR_IND_CMN, OUR_IND_SAMPLE)
#: Methods with a heuristic for rare labels, and the same without it.
HEURISTICS = {CMN: NO_HEURISTIC, SVM: SVM_ALONE, PA_BATCH: PA_ALONE, LASVM: LASVM_ALONE}
#: The methods whose training is timed, without any tuning.
_TIMED = (LASVM_ALONE, SVM_ALONE, PA_ALONE, CMN, IND_CMN, OUR_CMN, OUR_IND_CMN)

#: Names of the methods in tables and charts: as in the paper, "ours" for our defaults.
NAMES = {
    CMN: "BOMC_CMN",
    SAMPLE: "BOMC_Sample",
    IND_CMN: "BOMC_IND_CMN",
    IND_SAMPLE: "BOMC_IND_Sample",
    OUR_CMN: "BOMC_CMN, ours",
    OUR_SAMPLE: "BOMC_Sample, ours",
    OUR_IND_CMN: "BOMC_IND_CMN, ours",
    OUR_IND_SAMPLE: "BOMC_IND_Sample, ours",
    LASVM: "LaSVM",
    PA_ONLINE: "PA_OnlineCV",
    PA_BATCH: "PA_BatchCV",
    SVM: "SVM_Batch",
    LASVM_ALONE: "LaSVM",
    SVM_ALONE: "SVM_Batch",
    PA_ALONE: "PA",
    SVM_WEIGHTED: "SVM_Batch, classes weighted",
    NO_HEURISTIC: "BOMC",
    NARROW_CMN: "BOMC_IND_CMN, N(0, 1)",
    **{method: f"BOMC_Sample ({n} samples)" for n, method in SAMPLES.items()},
}


def _streams(
    name: str,
    methods: tuple[str, ...],
    sizes: tuple[int, ...] = SIZES,
    data: tuple[str, ...] = (DATA,),
    n_splits: int = _N_SPLITS,
    measurement: str = "stream",
) -> Experiment:
    """Return learning curves; tasks that several experiments share are measured once."""
    settings = {"sizes": list(sizes), "at_most": _AT_MOST}
    return Experiment(name, measurement, data, methods, n_splits, settings)


def _posteriors(
    data: tuple[str, ...], n_splits: int, size: int, parts: list[int], learned: list[int]
) -> tuple[Experiment, ...]:
    """Return the experiments on single posteriors, learned from `size` rows."""
    thresholds = {"size": size, "samples": 5}
    messages = {"learned": learned, "rows": 100, "iterations": 6}
    coupled = (CMN, OUR_CMN)
    return (
        Experiment("figure-4", "expected_f1", data, (SAMPLE, OUR_SAMPLE), n_splits, thresholds),
        Experiment(
            "test-size", "in_parts", data, coupled, n_splits, {"size": size, "parts": parts}
        ),
        Experiment("messages", "message_changes", data, coupled, n_splits, messages),
        Experiment("biases", "bias_variance", data, (CMN, IND_CMN), n_splits, {"size": size}),
    )


_LEARNERS = (LASVM, SVM, PA_BATCH, PA_ONLINE, *_PUBLISHED_BOMC, *_OUR_BOMC)

#: All experiments, with the longest tasks first, so that no core is idle at the end.
EXPERIMENTS: tuple[Experiment, ...] = (
    _streams("figure-5", _LEARNERS),
    _streams("figure-7", _TIMED, n_splits=_N_TIMED, measurement="training_time"),
    _streams("figure-6", (CMN, IND_CMN, NARROW_CMN, OUR_CMN, OUR_IND_CMN)),
    _streams("heuristics", (*HEURISTICS, *HEURISTICS.values())),
    _streams("class-weights", (SVM, SVM_WEIGHTED)),
    _streams("samples", tuple(SAMPLES.values()), SIZES[::2]),
    *_posteriors((DATA,), _N_SPLITS, SIZES[-1], [1, 4, 16], [1, 10, 100, 1000, 10_000]),
)

_QUICK_DATA = ("yeast", "emotions")
_QUICK_SIZES = (100, 200, 474, 1000, 1933)

#: Two small bundled data sets. They are not used to judge the claims, which are about text.
QUICK: tuple[Experiment, ...] = (
    _streams("figure-5", _LEARNERS, _QUICK_SIZES, _QUICK_DATA, 2),
    _streams("figure-7", _TIMED, _QUICK_SIZES, _QUICK_DATA, 2, "training_time"),
    _streams("heuristics", (*HEURISTICS, *HEURISTICS.values()), _QUICK_SIZES, _QUICK_DATA, 2),
    _streams("class-weights", (SVM, SVM_WEIGHTED), _QUICK_SIZES, _QUICK_DATA, 2),
    _streams("samples", tuple(SAMPLES.values()), _QUICK_SIZES, _QUICK_DATA, 2),
    *_posteriors(_QUICK_DATA, 2, 474, [1, 4], [10, 100]),
)


# Tables and figures

_PEERS = (LASVM, PA_ONLINE, PA_BATCH, SVM)
_ON_ROWS = "training rows"


def show(results: Results) -> list[Section]:
    """Return the sections of the report, each with a part for every data set."""
    sections = {
        "Figure 5: macro F1 after one pass": ("stream", _learning_curves),
        "Figure 4: expected and true F1": ("expected_f1", _threshold_curves),
        "Figure 6: coupled against independent labels": ("stream", _coupling),
        "Figure 7: training time": ("training_time", _training_time),
        "Number of samples, and labels without heuristics": ("stream", _variants),
        "Size of the test set": ("in_parts", _test_sizes),
        "Messages of expectation propagation": ("message_changes", _messages),
    }
    shown = []
    for title, (measurement, blocks_of) in sections.items():
        blocks = [block for data in results.data(measurement) for block in blocks_of(results, data)]
        if blocks:
            shown.append(Section(title, tuple(blocks)))
    return shown


def _sizes(results: Results, data: str, measurement: str = "stream") -> list[int]:
    """Return the numbers of training rows that were measured."""
    found = {
        int(name.partition("@")[2])
        for record in results.records
        if (record.task.measurement, record.task.data) == (measurement, data)
        for name in record.values
    }
    return sorted(found)


def _measured(results: Results, data: str, methods: Sequence[str]) -> list[str]:
    return [method for method in methods if results.has("stream", data, method)]


def _splits(
    results: Results, data: str, method: str, name: str, measurement: str = "stream"
) -> Floats:
    """Return the values of the learning curve, (n_splits, n_sizes)."""
    sizes = _sizes(results, data, measurement)
    return np.stack(
        [results.values(measurement, data, method, f"{name}@{size}") for size in sizes], axis=1
    )


def _line(name: str, sizes: Sequence[int], values: Floats) -> Series:
    mean, spread = values.mean(axis=0), values.std(axis=0)
    return Series(name, tuple(sizes), tuple(mean.tolist()), error=tuple(spread.tolist()))


def _score(values: Floats, strong: bool = False) -> Cell:
    if np.isnan(values.mean()):
        return Cell("–", muted=True)
    return Cell(mean_and_deviation(values), strong=strong)


def _size_table(
    results: Results, data: str, title: str, methods: dict[str, str], name: str
) -> Table:
    """Return a table of methods by sizes, the best of the online learners in bold."""
    values = {method: _splits(results, data, method, name) for method in methods}
    online = [m for m in methods if m not in (SVM, SVM_ALONE, SVM_WEIGHTED)]
    means = np.array([values[method].mean(axis=0) for method in online])
    best = np.where(np.isnan(means), -np.inf, means).max(axis=0)
    rows: list[tuple[Cell | str, ...]] = [
        (
            label,
            *(
                _score(column, strong=method in online and column.mean() == top)
                for column, top in zip(values[method].T, best, strict=True)
            ),
        )
        for method, label in methods.items()
    ]
    columns = (_ON_ROWS, *(f"{size:,}" for size in _sizes(results, data)))
    note = "Mean ± standard deviation over the splits; the best online learner in bold."
    return Table(title, columns, tuple(rows), note)


def _learning_curves(results: Results, data: str) -> list[Block]:
    methods = _measured(results, data, (*_PUBLISHED_BOMC, *_PEERS, *_OUR_BOMC))
    if not methods:
        return []
    names = {method: NAMES[method] for method in methods}
    charts = [
        LineChart(
            f"{data}: {title}",
            _ON_ROWS,
            "macro F1",
            tuple(
                _line(NAMES[m], _sizes(results, data), _splits(results, data, m, "f1_macro"))
                for m in chosen
            ),
            x_log=True,
        )
        for title, chosen in (
            ("published settings", _measured(results, data, (*_PUBLISHED_BOMC, *_PEERS))),
            ("our defaults", _measured(results, data, (*_OUR_BOMC, CMN, SVM))),
        )
        if chosen
    ]
    tables = [
        _size_table(results, data, f"{data}: {title}", names, name)
        for title, name in (("macro F1", "f1_macro"), ("micro F1", "f1_micro"))
    ]
    return [*charts, *tables]


def _threshold_curves(results: Results, data: str) -> list[Block]:
    methods = [m for m in (SAMPLE, OUR_SAMPLE) if results.has("expected_f1", data, m)]
    rows: list[tuple[str, ...]] = []
    for method in methods:
        chosen, best, of_all, n_labels = (
            results.mean("expected_f1", data, method, name)
            for name in ("chosen", "best", "best_of_all", "n_labels")
        )
        sums = (f"{chosen:.2f}", f"{best:.2f}", f"{chosen / best:.1%}", f"{of_all:.2f}")
        rows.append((NAMES[method], *sums, f"{n_labels:.0f}"))
    figures = PAPER["expected_f1"]  # sums of the true F1 over the topics
    chosen, best = figures["chosen"], figures["best"]
    published = (str(chosen), str(best), f"{chosen / best:.1%}", "–", str(figures["n_labels"]))
    table = Table(
        f"{data}: sum over the labels of the true F1",
        ("settings", "chosen threshold", "best candidate", "share", "best of all", "labels"),
        (("published, RCV1-v2", *published), *rows),
        "Chosen among twenty candidates by the expected F1 of five samples. Labels that occur.",
    )
    return [table, *_label_charts(results, data, methods)]


def _label_charts(results: Results, data: str, methods: Sequence[str]) -> list[Block]:
    """Return expected and true F1 of four labels over the thresholds, in the first split."""
    first = {method: results.select("expected_f1", data, method)[0].values for method in methods}
    some = next(iter(first.values()))
    ranks = sorted(name.partition("/")[2] for name in some if name.startswith("rows/"))
    return [
        LineChart(
            f"{data}: a label of {some[f'rows/{k}']:,} of {some['n_rows']:,} test rows",
            "threshold",
            "F1",
            tuple(
                Series(
                    f"{NAMES[method]}: {kind} F1",
                    tuple(values["thresholds"]),
                    tuple(values[f"{kind}/{k}"]),
                    dashed=kind == "true",
                )
                for method, values in first.items()
                for kind in ("expected", "true")
            ),
        )
        for k in ranks
    ]


def _coupling(results: Results, data: str) -> list[Block]:
    """Return the relative difference 200 (coupled - independent) / (coupled + independent)."""
    pairs = {
        name: (coupled, independent)
        for name, coupled, independent in (
            ("published settings", CMN, IND_CMN),
            ("published, local biases N(0, 1)", CMN, NARROW_CMN),
            ("our defaults", OUR_CMN, OUR_IND_CMN),
        )
        if results.has("stream", data, coupled, independent)
    }
    rows, lines = [], []
    sizes = _sizes(results, data)
    for name, pair in pairs.items():
        by_size = [results.paired("stream", data, pair, f"f1_macro@{size}") for size in sizes]
        coupled, independent = np.array(by_size).transpose(1, 2, 0)
        gains = 200 * (coupled - independent) / (coupled + independent)
        rows += [
            (f"{name}, split {k + 1}", *(f"{gain:+.1f}" for gain in split))
            for k, split in enumerate(gains)
        ]
        lines.append(_line(name, sizes, gains))
    if not pairs:
        return []
    title = f"{data}: macro F1 of BOMC_CMN over BOMC_IND_CMN, %"
    columns = (_ON_ROWS, *(f"{size:,}" for size in sizes))
    return [
        LineChart(title, _ON_ROWS, "relative difference, %", tuple(lines), x_log=True),
        Table(title, columns, tuple(rows), "Published: slightly below zero on topics."),
    ]


def _training_time(results: Results, data: str) -> list[Block]:
    measured = "training_time"
    sizes = _sizes(results, data, measured)
    rows, lines = [], []
    for method in (method for method in _TIMED if results.has(measured, data, method)):
        seconds = _splits(results, data, method, "fit_seconds", measured)
        median = np.median(seconds, axis=0)
        cells = ("–" if np.isnan(value) else f"{value:.2f}" for value in median)
        rows.append((NAMES[method], *cells, f"{growth(sizes, median):.2f}"))
        lines.append(_line(NAMES[method], sizes, seconds))
    if not rows:
        return []
    note = "Median over the splits, one thread, final model only: no tuning by cross-validation."
    columns = (_ON_ROWS, *(f"{size:,}" for size in sizes), "exponent")
    return [
        LineChart(
            f"{data}: training time", _ON_ROWS, "CPU seconds", tuple(lines), x_log=True, y_log=True
        ),
        Table(f"{data}: CPU seconds of training", columns, tuple(rows), note),
    ]


def growth(sizes: Sequence[int], seconds: Floats) -> float:
    """Return the exponent of the growth of time, by least squares on logarithms."""
    known = ~np.isnan(seconds)
    slope, _ = np.polyfit(np.log(np.array(sizes)[known]), np.log(seconds[known]), 1)
    return float(slope)


def _variants(results: Results, data: str) -> list[Block]:
    samples = {method: NAMES[method] for method in SAMPLES.values()}
    bare = {method: f"{NAMES[method]}, no heuristic" for method in HEURISTICS.values()}
    titles = {
        "macro F1 of BOMC_Sample by the number of samples": samples,
        "macro F1 without a heuristic for rare labels": bare,
        "macro F1 of SVMs with weighted classes": {m: NAMES[m] for m in (CMN, SVM, SVM_WEIGHTED)},
    }
    return [
        _size_table(results, data, f"{data}: {title}", {m: names[m] for m in chosen}, "f1_macro")
        for title, names in titles.items()
        if (chosen := _measured(results, data, list(names)))
    ]


def _test_sizes(results: Results, data: str) -> list[Block]:
    methods = [m for m in (CMN, OUR_CMN) if results.has("in_parts", data, m)]
    record = results.select("in_parts", data, methods[0])[0]
    parts = record.task.settings["parts"]
    rows: list[tuple[Cell | str, ...]] = [
        (
            NAMES[method],
            *(_score(results.values("in_parts", data, method, f"f1_macro/{n}")) for n in parts),
        )
        for method in methods
    ]
    columns = ("rows in a test set", *(f"{record.values[f'rows/{n}']:,}" for n in parts))
    note = "Macro F1 of the same test rows, labelled in test sets of different sizes."
    return [Table(f"{data}: class mass normalisation", columns, tuple(rows), note)]


def _messages(results: Results, data: str) -> list[Block]:
    rows = []
    for method in (CMN, OUR_CMN):
        found = results.select("message_changes", data, method)
        for name in found[0].values if found else ():
            kind, _, learned = name.partition("@")
            changes = results.values("message_changes", data, method, name).mean(axis=0)
            label = f"{NAMES[method]}: {kind} after {int(learned):,} rows"
            rows.append((label, *(f"{change:.1e}" for change in changes)))
    n_changes = len(rows[0]) - 1
    columns = ("message to the bias", *(f"iteration {k + 2}" for k in range(n_changes)))
    note = (
        "Change from the iteration before, relative to the size, averaged over messages and rows."
    )
    return [
        Paragraph("Published: below 0.001 on average after three iterations."),
        Table(f"{data}: how messages settle", columns, tuple(rows), note),
    ]
