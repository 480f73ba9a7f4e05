"""The experiments of the paper: learners, numbers of training documents, and what is measured."""

from __future__ import annotations

from labelweave.reproduce.plan import Experiment

__all__ = ["EXPERIMENTS", "NAMES", "QUICK", "SIZES"]

DATA = "rcv1"
SIZES = (1000, 2000, 5000, 10_000, 22_090)
# LaSVM's time grows with nearly the square of the documents: 22,090 would take over an hour.
LASVM_SIZES = SIZES[:4]
N_SPLITS = 5

CMN, SAMPLE = "bomc-cmn(preset='published')", "bomc-sample(preset='published')"
IND_CMN, IND_SAMPLE = "bomc-ind-cmn(preset='published')", "bomc-ind-sample(preset='published')"
OUR_CMN, OUR_SAMPLE = "bomc-cmn", "bomc-sample"
OUR_IND_CMN, OUR_IND_SAMPLE = "bomc-ind-cmn", "bomc-ind-sample"
PA_ONLINE, PA_BATCH, SVM = "pa-online", "pa-batch(C='scale')", "svm(C='scale')"
LASVM = "lasvm(n_folds=3)"  # thresholds by three folds instead of five take half the time
#: The final model only, without the cross-validation that tunes thresholds.
LASVM_ALONE, SVM_ALONE = "lasvm(decision='fixed')", "svm(C='scale',decision='fixed')"
PA_ALONE = "pa-online(C='scale',decision='fixed')"
#: The published settings but for wider margins of rare labels: presets do not let go of those.
NO_HEURISTIC = (
    "bomc-cmn(margin=1.0,noise=0.01,prior_variance=1.0,bias_variance=10000.0,label_offset=0.0,"
    "skew_margin=False,scale_rows=False,calibrate=False,decision='fixed')"
)
SAMPLES = {n: f"bomc-sample(preset='published',samples={n})" for n in (5, 10, 20)}

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
    NO_HEURISTIC: "BOMC",
    **{method: f"BOMC_Sample ({n} samples)" for n, method in SAMPLES.items()},
}


def _streams(
    name: str, methods: tuple[str, ...], sizes: tuple[int, ...] = SIZES
) -> tuple[Experiment, ...]:
    """Return learning curves; what several experiments share is measured once."""
    slow = tuple(method for method in methods if method in (LASVM, LASVM_ALONE))
    others = tuple(method for method in methods if method not in slow)
    experiments = [
        Experiment(name, "stream", (DATA,), chosen, N_SPLITS, {"sizes": list(of)})
        for chosen, of in ((slow, LASVM_SIZES), (others, sizes))
        if chosen
    ]
    return tuple(experiments)


#: All experiments, those with the longest tasks first, so that no core is idle in the end.
EXPERIMENTS: tuple[Experiment, ...] = (
    *_streams("figure-5", (LASVM, SVM, PA_BATCH, PA_ONLINE, *PUBLISHED_BOMC, *OUR_BOMC)),
    *_streams("figure-7", TIMED),
    *_streams("figure-6", (CMN, IND_CMN, OUR_CMN, OUR_IND_CMN)),
    *_streams("heuristics", (*HEURISTICS, *HEURISTICS.values())),
    *_streams("samples", tuple(SAMPLES.values()), SIZES[::2]),
    Experiment(
        "figure-4",
        "expected_f1",
        (DATA,),
        (SAMPLE, OUR_SAMPLE),
        N_SPLITS,
        {"size": SIZES[-1], "samples": 5},
    ),
    Experiment(
        "test-size",
        "in_parts",
        (DATA,),
        (CMN, OUR_CMN),
        N_SPLITS,
        {"size": SIZES[-1], "parts": [1, 4, 16]},
    ),
    Experiment(
        "messages",
        "message_changes",
        (DATA,),
        (CMN, OUR_CMN),
        N_SPLITS,
        {"learned": [1, 10, 100, 1000, 10_000], "rows": 100, "iterations": 6},
    ),
)


def _quick(data: str, sizes: tuple[int, ...]) -> tuple[Experiment, ...]:
    """Return the experiments on all rows of a small data set, two splits each."""
    learners = (SVM, PA_BATCH, PA_ONLINE, LASVM, *PUBLISHED_BOMC, *OUR_BOMC)
    alone = (LASVM_ALONE, SVM_ALONE, PA_ALONE, NO_HEURISTIC)
    streams = {"figure-5": learners, "figure-7": alone, "samples": tuple(SAMPLES.values())}
    on_all = {"size": sizes[-1]}
    return (
        *(
            Experiment(name, "stream", (data,), methods, 2, {"sizes": list(sizes)})
            for name, methods in streams.items()
        ),
        Experiment(
            "figure-4", "expected_f1", (data,), (SAMPLE, OUR_SAMPLE), 2, on_all | {"samples": 5}
        ),
        Experiment("test-size", "in_parts", (data,), (CMN, OUR_CMN), 2, on_all | {"parts": [1, 4]}),
        Experiment(
            "messages",
            "message_changes",
            (data,),
            (CMN, OUR_CMN),
            2,
            {"learned": [10, 100], "rows": 100, "iterations": 6},
        ),
    )


#: Two small data sets that are bundled; claims are about text, and not judged by them.
QUICK: tuple[Experiment, ...] = (
    *_quick("yeast", (500, 1000, 1933)),
    *_quick("emotions", (100, 200, 474)),
)
