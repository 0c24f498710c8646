"""Page that compares two or three experiments: verdict, change, plan, health, and the goals they share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.auth import require_scope
from api.dashboard.computed_results import AskedResults
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.interval_bar import Axis, IntervalBar, axis_of
from api.dashboard.page_answers import render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.results_page.goal_rows import bar_of
from api.dashboard.results_page.results_content import leader_of
from api.dashboard.sessions import SignedIn
from api.deps import experiment_in_path, project_in_path
from api.schemas.segment_filters import ResultsQuery
from api.services import Services
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.report import GoalReport, HealthCheck, Report
from engine.analysis.results.status_words import STATUS_WORDS, StatusWord
from engine.analysis.results.variant_result import Interval, VariantResult
from engine.analysis.results.verdict_words import LIFE_WORDS, VERDICT_WORDS, ShortWord, verdict_of
from engine.design.experiment import Experiment
from engine.design.lifecycle import UNSTARTED

PARAMETER: Final = "experiment"
FEWEST: Final = 2
MOST: Final = 3


@dataclass(frozen=True, slots=True)
class ComparedGoal:
    """A goal of an experiment in the variant that its verdict is about; without a bar it has no change."""

    goal: GoalReport
    variant: VariantResult
    control: VariantResult | None
    word: StatusWord
    bar: IntervalBar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An experiment beside others; before its start it has no report."""

    experiment: Experiment
    report: Report | None
    goals: Mapping[str, ComparedGoal]

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"/projects/{self.experiment.project_id}/experiments/{self.experiment.id}"

    @property
    def word(self) -> ShortWord:
        """The verdict; before the start the status."""
        if self.report is None or self.report.primary is None:
            return LIFE_WORDS[self.experiment.status]
        decision = self.report.primary.decision
        return VERDICT_WORDS[verdict_of(decision.recommendation, decision.reason)]

    @property
    def life(self) -> ShortWord:
        """The word of its status."""
        return LIFE_WORDS[self.experiment.status]

    @property
    def primary(self) -> ComparedGoal | None:
        """The goal that decides."""
        return next((one for one in self.goals.values() if one.goal.goal.is_primary), None)

    @property
    def open_checks(self) -> list[HealthCheck]:
        """The checks that warn or give the alarm."""
        return [one for one in self.report.health if one.is_open] if self.report else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Experiments side by side on one axis, and the keys and names of goals that several of them have."""

    compared: Sequence[Compared]
    axis: Axis
    shared: Sequence[tuple[str, str]]


@signed_in
async def show_comparison(request: Request, session: SignedIn) -> Response:
    """Show two or three experiments of a project side by side."""
    services: Services = request.app.state.services
    with refusals_as_pages(request):
        asked = await run_in_threadpool(_asked, request, session, services)
        project = asked[0].project
        comparison = await services.results_threads.run(project.id, partial(compare, asked))
    return await render(request, "compare.html", session=session, project=project, comparison=comparison)


def compare(asked: Iterable[AskedResults]) -> Comparison:
    """Compute the results of each, and arrange them on one axis."""
    found = [(one, None if one.experiment.status in UNSTARTED else one.report()) for one in asked]
    reports = [report for _, report in found if report is not None]
    axis = axis_of(_intervals(reports))
    compared = [
        Compared(
            experiment=one.experiment,
            report=report,
            goals={} if report is None else _goals(report, axis),
        )
        for one, report in found
    ]
    return Comparison(compared=compared, axis=axis, shared=_shared(compared))


def _asked(request: Request, session: SignedIn, services: Services) -> list[AskedResults]:
    ids = [*dict.fromkeys(request.query_params.getlist(PARAMETER))]
    if not FEWEST <= len(ids) <= MOST:
        raise PageError(422, "Choose two or three experiments in the list, and compare them then.")
    caller = caller_of(request, session, "results:read")
    require_scope(caller, "experiments:read")
    project = project_in_path(request.path_params["project_id"], caller, services.catalog)
    return [
        AskedResults(
            services=services,
            project=project,
            experiment=experiment_in_path(one, project, services.catalog),
            query=ResultsQuery(),
        )
        for one in ids
    ]


def _goals(report: Report, axis: Axis) -> dict[str, ComparedGoal]:
    """Describe the goals by name; of those with one name the primary one, or the first."""
    leader, found = leader_of(report), dict[str, ComparedGoal]()
    for goal in sorted(report.goals, key=lambda one: not one.goal.is_primary):
        variant = next((one for one in goal.variants if leader and one.variant_id == leader.variant_id), None)
        if variant is not None:
            word = STATUS_WORDS[row_status(report, goal, variant)]
            control = next((one for one in goal.variants if one.is_control), None)
            bar = bar_of(report, goal, variant, axis, word)
            found.setdefault(_key(goal.goal.name), ComparedGoal(goal, variant, control, word, bar))
    return found


def _intervals(reports: Iterable[Report]) -> Iterator[Interval | None]:
    """Yield the intervals of the primary goals, which the axis must hold."""
    for report in reports:
        if (leader := leader_of(report)) is not None:
            yield leader.improvement_interval
            yield leader.compared.sequential_interval


def _shared(compared: Sequence[Compared]) -> list[tuple[str, str]]:
    """List the goals that several experiments have, but for one that is primary in all: key and name."""
    found: dict[str, list[ComparedGoal]] = {}
    for one in compared:
        for key, goal in one.goals.items():
            found.setdefault(key, []).append(goal)
    return [
        (key, goals[0].goal.goal.name)
        for key, goals in found.items()
        if len(goals) > 1 and not all(one.goal.goal.is_primary for one in goals)
    ]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
