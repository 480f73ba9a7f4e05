"""The plan of a paper: experiments, the presentation of their results, and claims."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labelweave.evaluation.tasks import content_key
from labelweave.report.document import Outcome, Section

if TYPE_CHECKING:
    from labelweave.papers.results import Results


@dataclass(frozen=True)
class Task:
    """One measurement of one method, such as ``"mc(preset='published')"``, on a data set.

    The data set ``"rcv1subset1 top:10"`` is rcv1subset1 with its ten most common labels. `fold` is
    the number of the fold or random split; `seed` is the seed of the folds and of the method.
    """

    measurement: str
    data: str
    method: str
    fold: int
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)

    def key(self, data_hash: str, code: str) -> str:
        """Return a digest of everything that the result depends on."""
        return content_key(asdict(self), data_hash, code)

    @property
    def kind(self) -> tuple[str, str, str]:
        """The kind of the task; tasks of one kind take about the same time."""
        return self.measurement, self.data, self.method

    def __str__(self) -> str:
        return f"{self.data}, {self.method}, fold {self.fold + 1}"


@dataclass(frozen=True)
class Experiment:
    """A grid of tasks: every method on every data set, fold by fold.

    ``--only`` selects it by its `name`, such as "tables" or "figure-3", or by the tables and
    figures that it `shows`. `omitted` gives the reason why a method is not run on a data set, by
    ``(data, method)``. An experiment that is not `repeated` is run with seed 0 only.
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
        """Return the tasks, ordered by fold."""
        return [
            Task(self.measurement, data, method, fold, seed, dict(self.settings))
            for seed in range(n_seeds if self.repeated else 1)
            for fold in range(self.n_folds)
            for data in self.data
            for method in self.methods
            if (data, method) not in self.omitted
        ]


def tasks_of(experiments: Sequence[Experiment], n_seeds: int = 1) -> list[Task]:
    """Return the distinct tasks of several experiments."""
    tasks = [task for experiment in experiments for task in experiment.tasks(n_seeds)]
    return list({task.key("", ""): task for task in tasks}.values())


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim: outcome, measured figures, and a reason if it is not obvious."""

    outcome: Outcome
    measured: str
    reason: str = ""


def judged_by_share(n_true: int, n_total: int) -> Outcome:
    """Return the outcome by whether a claim holds in all, in at least half or in fewer cases."""
    if n_true == n_total:
        return "reproduced"
    return "partly" if 2 * n_true >= n_total else "not reproduced"


Judge = Callable[["Results"], Judgement]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: its number, one sentence, the published figures, and its judge."""

    number: int
    text: str
    published: str
    judge: Judge


@dataclass(frozen=True)
class Plan:
    """The plan to reproduce one paper; `name` is the paper's name on the command line.

    ``--quick`` runs the experiments `quick` on bundled data. `show` returns the sections of the
    report that show the results. `deviations` are differences of data and protocol from the paper.
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


def read_paper(name: str) -> dict[str, Any]:
    """Return the figures and claims of a paper, from the TOML file beside this one."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


def stated_claims(paper: Mapping[str, Any], judges: Mapping[int, Judge]) -> tuple[Claim, ...]:
    """Return the claims in a paper's file, each with its judge."""
    return tuple(
        Claim(int(number), stated["text"], stated["published"], judges[int(number)])
        for number, stated in paper["claims"].items()
    )
