"""The report of a reproduction: verdicts, tables and figures, deviations, environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from labelweave.report.comparison import command_paragraph
from labelweave.report.document import (
    OUTCOMES,
    Document,
    Facts,
    Paragraph,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from labelweave.reproduce.plan import Plan
from labelweave.reproduce.results import Results
from labelweave.reproduce.task import data_hash
from labelweave.versions import code_version, environment, library_versions

__all__ = ["reproduction_document", "verdicts"]


def reproduction_document(
    parts: Sequence[tuple[Plan, Results]], *, command: str = "", skipped: Sequence[str] = ()
) -> Document:
    """Return the report of one or several papers.

    Parameters
    ----------
    parts : sequence of (Plan, Results)
        The papers and what was measured.
    command : str
        The command that repeats the run.
    skipped : sequence of str
        What was left out and why, such as data sets that are not on this machine.
    """
    judged = {plan.name: verdicts(plan, results) for plan, results in parts}
    sections = [_summary(judged, skipped)]
    for plan, results in parts:
        sections.append(Section(plan.title, (Verdicts("Claims", judged[plan.name]),)))
        sections += [_of_paper(plan, section) for section in plan.show(results)]
        notes = (
            *plan.deviations,
            *_omissions(plan, results),
            *(f"Failed: {line}" for line in results.failures()),
        )
        sections.append(_of_paper(plan, Section("deviations", tuple(map(Paragraph, notes)))))
    sections.append(_environment(parts, command))
    names = ", ".join(plan.name.upper() for plan, _ in parts)
    return Document(f"Reproduction of {names}", "Published and measured", tuple(sections))


def _of_paper(plan: Plan, section: Section) -> Section:
    """Return a section of a paper without its empty tables."""
    blocks = tuple(b for b in section.blocks if not (isinstance(b, Table) and not b.rows))
    title = f"{plan.name.upper()}: {section.title}"
    return Section(title, blocks or (Paragraph("Not measured."),))


def _omissions(plan: Plan, results: Results) -> list[str]:
    """Describe which methods were not run on which data sets that were, and why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for experiment in plan.experiments:
        for (data, method), reason in experiment.omitted.items():
            if data in results.data(experiment.measurement):
                reasons.setdefault((method, reason), []).append(data)
    return [
        f"`{method}` was not run on {', '.join(data)}: {reason}."
        for (method, reason), data in reasons.items()
    ]


def verdicts(plan: Plan, results: Results) -> tuple[Verdict, ...]:
    """Judge the claims of a paper by what was measured."""
    judged = []
    for claim in plan.claims:
        found = claim.judge(results)
        judged.append(
            Verdict(
                str(claim.number),
                claim.text,
                found.outcome,
                claim.published,
                found.measured,
                found.reason,
            )
        )
    return tuple(judged)


def _summary(judged: dict[str, tuple[Verdict, ...]], skipped: Sequence[str]) -> Section:
    rows = []
    for name, found in judged.items():
        counts = Counter[str](verdict.outcome for verdict in found)
        rows.append((name.upper(), *(str(counts[outcome]) for outcome in OUTCOMES)))
    table = Table("Claims by outcome", ("paper", *OUTCOMES), tuple(rows))
    return Section("Summary", (table, *(Paragraph(f"Left out: {line}") for line in skipped)))


def _environment(parts: Sequence[tuple[Plan, Results]], command: str) -> Section:
    tasks = [record.task for _, results in parts for record in results.records]
    data = dict.fromkeys(task.data for task in tasks)
    seeds = sorted({task.seed for task in tasks})
    facts = {
        "code": code_version(),
        "seeds": ", ".join(map(str, seeds)),
        **environment(),
        **library_versions(),
    }
    repeat = (command_paragraph(command),) if command else ()
    return Section(
        "Environment",
        (
            *repeat,
            Facts("Software and machine", tuple(facts.items())),
            Facts("Data sets, by digest", tuple((name, data_hash(name)) for name in data)),
        ),
    )
