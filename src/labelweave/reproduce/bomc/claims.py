"""The claims of the paper, 29 to 44 of all."""

from __future__ import annotations

from labelweave.reproduce.bomc.quality import (
    batch_best,
    best_online,
    five_samples_enough,
    global_bias_surer,
    independent_on_topics,
    large_test_sets,
    lasvm_competitive,
    passive_aggressive_worst,
    poor_without_heuristic,
    sample_competitive,
    thresholds_better_than_weights,
    thresholds_close,
)
from labelweave.reproduce.bomc.speed import (
    independent_slower,
    linear_time,
    messages_settle,
    peers_faster,
)
from labelweave.reproduce.plan import Claim

__all__ = ["CLAIMS"]

#: Each with its predicate.
CLAIMS: tuple[Claim, ...] = (
    Claim(
        29,
        "BOMC with class mass normalisation is the best online learner most of the time.",
        "figure 5: BOMC_CMN highest among the online learners",
        best_online,
    ),
    Claim(
        30,
        "BOMC with sampling is inferior to BOMC_CMN, but competitive.",
        "figure 5: BOMC_Sample a little below BOMC_CMN",
        sample_competitive,
    ),
    Claim(
        31,
        "The batch SVM usually has the highest F1 of all.",
        "figure 5: SVM_Batch usually highest, BOMC_CMN often as good",
        batch_best,
    ),
    Claim(
        32,
        "Class mass normalisation benefits from a large test set.",
        "figure 5 (c) against (d), regions: BOMC_CMN significantly better on the larger one",
        large_test_sets,
    ),
    Claim(
        33,
        "Coupled labels are better on industries and regions, independent ones slightly on topics.",
        "figure 6: BOMC_CMN above BOMC_IND_CMN on industries and regions, slightly below on topics",
        independent_on_topics,
    ),
    Claim(
        34,
        "F1 at thresholds chosen by expected F1 is close to that of the best thresholds.",
        "60.97 of 63.26 (96.4%), summed over 101 topics",
        thresholds_close,
    ),
    Claim(
        35,
        "Ten or twenty posterior samples are no better than five.",
        "no improvement",
        five_samples_enough,
    ),
    Claim(
        36,
        "All algorithms perform very poorly without a heuristic for rare labels.",
        "very poor",
        poor_without_heuristic,
    ),
    Claim(
        37,
        "Training time is linear in the number of documents for all but LaSVM.",
        "figure 7",
        linear_time,
    ),
    Claim(
        38,
        "Training independent labels takes slightly longer than coupled ones.",
        "figure 7: BOMC_IND_CMN slightly above BOMC_CMN",
        independent_slower,
    ),
    Claim(
        39,
        "PA and the batch SVM are trained two to three times faster than BOMC.",
        "factors of 2-3, C against F#",
        peers_faster,
    ),
    Claim(
        40,
        "Means and variances of EP's messages change by less than 0.001 after three iterations.",
        "below 0.001 on average",
        messages_settle,
    ),
    Claim(
        41,
        "PA_Online and PA_Batch perform worse than the other algorithms.",
        "figure 5",
        passive_aggressive_worst,
    ),
    Claim(
        42,
        "LaSVM is slightly worse than BOMC_CMN, but competitive.",
        "figure 5",
        lasvm_competitive,
    ),
    Claim(
        43,
        "The global bias is learned with far more confidence than local biases.",
        "higher precision",
        global_bias_surer,
    ),
    Claim(
        44,
        "Thresholds by nested cross-validation outperform reweighted classes.",
        "significantly",
        thresholds_better_than_weights,
    ),
)
