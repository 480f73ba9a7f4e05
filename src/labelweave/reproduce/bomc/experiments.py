"""The experiments of the paper: learners, numbers of training documents, and what is measured."""

from __future__ import annotations

from labelweave.reproduce.plan import Experiment

__all__ = ["EXPERIMENTS", "NAMES", "QUICK", "SIZES"]

DATA = "rcv1"
SIZES = (1000, 2000, 5000, 10_000, 22_090)
N_SPLITS = 5
N_TIMED = 3

CMN, SAMPLE = "bomc-cmn(preset='published')", "bomc-sample(preset='published')"
IND_CMN, IND_SAMPLE = "bomc-ind-cmn(preset='published')", "bomc-ind-sample(preset='published')"
OUR_CMN, OUR_SAMPLE = "bomc-cmn", "bomc-sample"
OUR_IND_CMN, OUR_IND_SAMPLE = "bomc-ind-cmn", "bomc-ind-sample"
PA_ONLINE, PA_BATCH, SVM = "pa-online", "pa-batch(C='scale')", "svm(C='scale')"
LASVM = "lasvm(n_folds=3)"  # thresholds by three folds instead of five take half the time
#: The final model only, without the cross-validation that tunes thresholds.
LASVM_ALONE, SVM_ALONE = "lasvm(decision='fixed')", "svm(C='scale',decision='fixed')"
PA_ALONE = "pa-online(C='scale',decision='fixed')"
#: Classes weighted instead of thresholds tuned.
SVM_WEIGHTED = "svm(C='scale',class_weight='balanced')"
#: Without wider margins of rare labels, and without any threshold for them.
NO_HEURISTIC = "bomc-cmn(preset='published',skew_margin=False,decision='fixed')"
#: The paper gives N(0, 10^4) for the global bias only; local ones may have the weights' N(0, 1).
NARROW_CMN = "bomc-ind-cmn(preset='published',bias_variance=1)"
SAMPLES = {n: f"bomc-sample(preset='published',samples={n})" for n in (5, 10, 20)}

# LaSVM's time grows with nearly the square of the documents: 22,090 would take over an hour.
AT_MOST = {LASVM: 10_000, LASVM_ALONE: 10_000}
PUBLISHED_BOMC = (CMN, SAMPLE, IND_CMN, IND_SAMPLE)
OUR_BOMC = (OUR_CMN, OUR_SAMPLE, OUR_IND_CMN, OUR_IND_SAMPLE)
#: With a heuristic for rare labels, and without any.
HEURISTICS = {CMN: NO_HEURISTIC, SVM: SVM_ALONE, PA_BATCH: PA_ALONE, LASVM: LASVM_ALONE}
#: Whose training is timed, without any tuning.
TIMED = (LASVM_ALONE, SVM_ALONE, PA_ALONE, CMN, IND_CMN, OUR_CMN, OUR_IND_CMN)

#: What methods are called in tables and charts: as in the paper, "ours" for our defaults.
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
    n_splits: int = N_SPLITS,
    measurement: str = "stream",
) -> Experiment:
    """Return learning curves; what several experiments share is measured once."""
    settings = {"sizes": list(sizes), "at_most": AT_MOST}
    return Experiment(name, measurement, data, methods, n_splits, settings)


def _posteriors(
    data: tuple[str, ...], n_splits: int, size: int, parts: list[int], learned: list[int]
) -> tuple[Experiment, ...]:
    """Return what is measured of single posteriors, learned from `size` rows."""
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


LEARNERS = (LASVM, SVM, PA_BATCH, PA_ONLINE, *PUBLISHED_BOMC, *OUR_BOMC)

#: All experiments, those with the longest tasks first, so that no core is idle in the end.
EXPERIMENTS: tuple[Experiment, ...] = (
    _streams("figure-5", LEARNERS),
    _streams("figure-7", TIMED, n_splits=N_TIMED, measurement="training_time"),
    _streams("figure-6", (CMN, IND_CMN, NARROW_CMN, OUR_CMN, OUR_IND_CMN)),
    _streams("heuristics", (*HEURISTICS, *HEURISTICS.values())),
    _streams("class-weights", (SVM, SVM_WEIGHTED)),
    _streams("samples", tuple(SAMPLES.values()), SIZES[::2]),
    *_posteriors((DATA,), N_SPLITS, SIZES[-1], [1, 4, 16], [1, 10, 100, 1000, 10_000]),
)

QUICK_DATA = ("yeast", "emotions")
QUICK_SIZES = (100, 200, 474, 1000, 1933)

#: Two small data sets that are bundled; claims are about text, and not judged by them.
QUICK: tuple[Experiment, ...] = (
    _streams("figure-5", LEARNERS, QUICK_SIZES, QUICK_DATA, 2),
    _streams("figure-7", TIMED, QUICK_SIZES, QUICK_DATA, 2, "training_time"),
    _streams("heuristics", (*HEURISTICS, *HEURISTICS.values()), QUICK_SIZES, QUICK_DATA, 2),
    _streams("class-weights", (SVM, SVM_WEIGHTED), QUICK_SIZES, QUICK_DATA, 2),
    _streams("samples", tuple(SAMPLES.values()), QUICK_SIZES, QUICK_DATA, 2),
    *_posteriors(QUICK_DATA, 2, 474, [1, 4], [10, 100]),
)
