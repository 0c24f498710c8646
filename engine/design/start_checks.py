"""Checks before the start of an experiment: what is missing, to be confirmed, and running beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from engine.design.exclusion.slot_taking import GroupUse, slot_problems
from engine.design.experiment import Experiment
from engine.design.lifecycle import lacks_to_start
from engine.design.project import Project
from engine.design.rollout_conflicts import may_share_a_page
from engine.design.variants import Variant

# `missing` prevents a start, and a `question` waits for an answer.
CheckState = Literal["ok", "notice", "question", "missing"]


@dataclass(frozen=True, slots=True)
class StartCheck:
    """A check before the start: its code, what was found, and what follows."""

    code: str
    state: CheckState
    message: str


def start_checks(
    experiment: Experiment,
    project: Project,
    beside: Sequence[Experiment],
    use: GroupUse | None = None,
    *,
    now: datetime,
) -> tuple[StartCheck, ...]:
    """Check an experiment before its start, beside the tests that run in its project and `use` its group."""
    return (
        *_missing(experiment, now),
        *_slots(experiment, use),
        *_changes(experiment),
        _snippet(project),
        _others(experiment, project, beside),
    )


def unchanged_variants(experiment: Experiment) -> list[Variant]:
    """List the variants that show the same page as the control, unless code of the site reads them."""
    if experiment.has_payloads or experiment.custom_css or experiment.custom_js:
        return []
    return [one for one in experiment.variants if not one.is_control and not one.changes]


def _missing(experiment: Experiment, now: datetime) -> Iterator[StartCheck]:
    problems = lacks_to_start(experiment, now)
    for problem in problems:
        yield StartCheck(problem.field, "missing", f"{problem.field}: {problem.message}.")
    if not problems:
        goal = experiment.primary_goal
        decides = f"“{goal.name}” decides" if goal else "no goal decides"
        yield StartCheck("requirements", "ok", f"{len(experiment.variants)} variants; {decides}.")


def _slots(experiment: Experiment, use: GroupUse | None) -> Iterator[StartCheck]:
    problems = list(slot_problems(experiment, use))
    for problem in problems:
        yield StartCheck(problem.field, "missing", f"{problem.message[0].upper()}{problem.message[1:]}.")
    if experiment.group is not None and use is not None and not problems:
        share, free = experiment.group.percent, use.free_percent
        yield StartCheck("group", "ok", f"It takes {share}% of “{use.group.name}”, of which {free}% is free.")


def _changes(experiment: Experiment) -> Iterator[StartCheck]:
    """Ask about variants without a change: of an A/A test they are meant, else they are forgotten."""
    unchanged = unchanged_variants(experiment)
    names = ", ".join(f"“{one.name}”" for one in unchanged)
    if unchanged and experiment.type == "redirect":
        yield StartCheck("unchanged_variants", "question", f"{names} leads to no other address.")
    elif unchanged:
        message = f"{names} changes nothing on the page: unless your own code does, it is an A/A test."
        yield StartCheck("unchanged_variants", "question", message)
    elif len(experiment.variants) > 1:
        yield StartCheck("unchanged_variants", "ok", "Each variant has a change.")


def _snippet(project: Project) -> StartCheck:
    if project.snippet_verified:
        return StartCheck("snippet", "ok", "The site has sent events.")
    message = "The site has sent nothing yet: visitors take part once the snippet is on the page."
    return StartCheck("snippet", "notice", message)


def _others(experiment: Experiment, project: Project, beside: Sequence[Experiment]) -> StartCheck:
    shared = [
        one.name
        for one in beside
        if one.id != experiment.id and may_share_a_page(experiment, one, project.url)
    ]
    if not shared:
        return StartCheck("shared_pages", "ok", "No other test runs on its pages.")
    number = "One other test runs" if len(shared) == 1 else f"{len(shared)} other tests run"
    return StartCheck("shared_pages", "notice", f"{number} on the same pages: {', '.join(shared[:5])}.")
