"""Reproduce the experiments of the papers, with a verdict on every claim."""

from labelweave.reproduce.bomc import PLAN as BOMC
from labelweave.reproduce.mc import PLAN as MC
from labelweave.reproduce.p2cg import PLAN as P2CG
from labelweave.reproduce.plan import Claim, Experiment, Judgement, Plan
from labelweave.reproduce.reproduction import Reproduction, check_experiments, reproduce
from labelweave.reproduce.results import Results
from labelweave.reproduce.runner import Progress
from labelweave.reproduce.store import Record, ResultStore
from labelweave.reproduce.task import Task

__all__ = [
    "PAPERS",
    "Claim",
    "Experiment",
    "Judgement",
    "Plan",
    "Progress",
    "Record",
    "Reproduction",
    "ResultStore",
    "Results",
    "Task",
    "check_experiments",
    "reproduce",
]

#: The papers by name.
PAPERS: dict[str, Plan] = {plan.name: plan for plan in (P2CG, MC, BOMC)}
