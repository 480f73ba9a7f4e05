"""A plan of a few seconds; as a script, it is run in the folder given as its argument."""

import sys
from pathlib import Path

from labelweave.papers import reproduce
from labelweave.papers.plan import Claim, Experiment, Judgement, Plan
from labelweave.papers.results import score_table
from labelweave.report.document import Section

METHODS = {
    "BR": "br(C=1)",
    "CC": "cc(C=1,label_penalty=1)",
    "PCC": "pcc(C=1,label_penalty=1)",  # shares the fit of CC
}
SETTINGS = {"n_folds": 6, "metrics": ["exact_match", "hamming_loss"]}
TABLES = Experiment("tables", "fold", ("emotions",), tuple(METHODS.values()), 6, SETTINGS)


def better(results):
    means = [results.mean("fold", "emotions", m, "exact_match") for m in METHODS.values()]
    return Judgement("reproduced" if means[1] > means[0] else "not reproduced", f"{means}")


PLAN = Plan(
    name="small",
    title="A small paper",
    experiments=(TABLES,),
    quick=(TABLES,),
    show=lambda results: [
        Section("scores", (score_table("Exact match", results, "exact_match", METHODS),))
    ],
    claims=(Claim(1, "CC is better than BR", "always", better),),
)

if __name__ == "__main__":
    reproduce([PLAN], Path(sys.argv[1]), n_jobs=1, progress=lambda _: print("one", flush=True))
