"""P2CG: classifier chains with Gibbs sampling. Tables 1–4 and figures 2–3 of the paper."""

from labelweave.reproduce.p2cg.claims import CLAIMS
from labelweave.reproduce.p2cg.display import show
from labelweave.reproduce.p2cg.experiments import EXPERIMENTS, QUICK
from labelweave.reproduce.plan import Plan

__all__ = ["PLAN"]

PLAN = Plan(
    name="p2cg",
    title="Probabilistic classifier chains with Gibbs sampling (P2CG)",
    experiments=EXPERIMENTS,
    quick=QUICK,
    show=show,
    claims=CLAIMS,
    deviations=(
        "The paper does not name its penalty: C = 1 for features and labels alike, features "
        "standardised where they are dense.",
        "PCC is computed by a search with certificates instead of enumeration, also where "
        "enumeration is infeasible; the time of enumeration is measured on 20 rows.",
        "Times are of one core of the machine named below, without the scores of the features; the "
        "paper's are of an unnamed machine.",
    ),
)
