"""A paper as a declarative plan: experiments, what to show of them, and claims to judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labelweave.report.document import Outcome, Section
from labelweave.reproduce.results import Results
from labelweave.reproduce.task import Task

__all__ = ["Claim", "Experiment", "Judgement", "Plan", "judged_by_share", "tasks_of"]


@dataclass(frozen=True)
class Experiment:
    """A grid of tasks: every method on every data set, fold by fold.

    Parameters
    ----------
    name : str
        Name for ``--only``, such as "tables" or "figure-3".
    measurement : str
        What is measured.
    data, methods : tuple of str
        Data sets and methods.
    n_folds : int
        Number of folds or splits.
    settings : mapping
        Settings of the measurement.
    omitted : mapping
        Why a method is not run on a data set, by ``(data, method)``.
    repeated : bool
        Whether ``--seeds`` repeats the experiment; otherwise only seed 0 is run.
    shows : tuple of str
        The paper's tables and figures that it measures, further names for ``--only``.

    Examples
    --------
    >>> grid = Experiment("tables", "fold", ("emotions",), ("br", "cc"), n_folds=2)
    >>> [(task.method, task.fold) for task in grid.tasks(n_seeds=1)]
    [('br', 0), ('cc', 0), ('br', 1), ('cc', 1)]
    """

    name: str
    measurement: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    n_folds: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    omitted: Mapping[tuple[str, str], str] = field(default_factory=dict)
    repeated: bool = True
    shows: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names for ``--only``."""
        return (self.name, *self.shows)

    def tasks(self, n_seeds: int) -> list[Task]:
        """Return the tasks, the first fold of everything first."""
        return [
            Task(self.measurement, data, method, fold, seed, dict(self.settings))
            for seed in range(n_seeds if self.repeated else 1)
            for fold in range(self.n_folds)
            for data in self.data
            for method in self.methods
            if (data, method) not in self.omitted
        ]


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim: outcome, what was measured, and the reason if it is not obvious.

    Examples
    --------
    >>> Judgement("reproduced", "9 of 10 data sets").outcome
    'reproduced'
    """

    outcome: Outcome
    measured: str
    reason: str = ""


def judged_by_share(n_true: int, n_total: int) -> Outcome:
    """Return the outcome of a claim about several cases: all of them, at least half, or fewer.

    Examples
    --------
    >>> judged_by_share(4, 4), judged_by_share(2, 4), judged_by_share(1, 4)
    ('reproduced', 'partly', 'not reproduced')
    """
    if n_true == n_total:
        return "reproduced"
    return "partly" if 2 * n_true >= n_total else "not reproduced"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Parameters
    ----------
    number : int
        Number of the claim.
    text : str
        The claim, in one sentence.
    published : str
        The published figures.
    judge : callable
        Returns the :class:`Judgement`, given the results.

    Examples
    --------
    >>> claim = Claim(1, "BR is fast", "1 s", lambda results: Judgement("reproduced", "0.1 s"))
    >>> claim.judge(Results(())).measured
    '0.1 s'
    """

    number: int
    text: str
    published: str
    judge: Callable[[Results], Judgement]


@dataclass(frozen=True)
class Plan:
    """The reproduction of one paper.

    Parameters
    ----------
    name, title : str
        Short name on the command line; title of the paper.
    experiments, quick : tuple of Experiment
        All experiments; a small subset on bundled data for ``--quick``.
    show : callable
        Returns the sections of the report that show the results.
    claims : tuple of Claim
        The claims.
    deviations : tuple of str
        How data and protocol differ from the paper.

    Examples
    --------
    >>> from labelweave.reproduce import PAPERS
    >>> [experiment.name for experiment in PAPERS["p2cg"].experiments]
    ['tables', 'table-4', 'figures']
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    quick: tuple[Experiment, ...]
    show: Callable[[Results], Sequence[Section]]
    claims: tuple[Claim, ...]
    deviations: tuple[str, ...] = ()

    def chosen(self, *, quick: bool = False, only: Sequence[str] = ()) -> tuple[Experiment, ...]:
        """Return the experiments to run: all of them, or those that `only` names."""
        experiments = self.quick if quick else self.experiments
        return tuple(e for e in experiments if not only or not set(e.names).isdisjoint(only))


def tasks_of(experiments: Sequence[Experiment], n_seeds: int = 1) -> list[Task]:
    """Return the tasks of several experiments; one that they share comes once.

    Examples
    --------
    >>> one = Experiment("figure-1", "fold", ("emotions",), ("br",), n_folds=2)
    >>> two = Experiment("figure-2", "fold", ("emotions",), ("br", "cc"), n_folds=2)
    >>> len(tasks_of([one, two]))
    4
    """
    tasks = [task for experiment in experiments for task in experiment.tasks(n_seeds)]
    return list({task.key("", ""): task for task in tasks}.values())
