"""Content of the page of a decision: what the results recommend, on what it rests, and what is open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.dashboard.computed_results import AskedResults
from api.dashboard.interval_bar import Axis, axis_of
from api.dashboard.results_page.goal_rows import VariantRow, bar_of, challengers
from api.dashboard.results_page.plot import day_words
from api.dashboard.results_page.results_content import leader_of, owner_of
from api.dashboard.results_page.verdict_facts import Fact, facts_of
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.open_risks import open_risks
from engine.analysis.results.report import DecisionSummary, GoalReport, HealthCheck, Report
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import VariantResult
from engine.local_days import local_day

KEEP = "keep_control"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContent:
    """What the page shows of results; without any, as of a key that reads none, the form alone.

    `recommended` is the choice that fits the verdict, `rows` are variants by id, and `risks` sentences by
    the name under which they are accepted.
    """

    recommended: str | None = None
    decision: DecisionSummary | None = None
    rows: Mapping[str, VariantRow] = field(default_factory=dict)
    axis: Axis | None = None
    facts: Sequence[Fact] = ()
    owner: str | None = None
    passed: int = 0
    warnings: Sequence[HealthCheck] = ()
    risks: Mapping[str, str] = field(default_factory=dict)


def decision_content(asked: AskedResults) -> DecisionContent:
    """Collect what the verdict recommends, the variants' changes, the facts, the checks and open risks."""
    report = asked.report()
    goal = report.primary
    if goal is None:
        return DecisionContent()
    reached, compared = report.plan.reached_at, challengers(goal)
    reached_on = None if reached is None else day_words(local_day(reached, asked.project.timezone))
    axis = axis_of(
        each for one in compared for each in (one.improvement_interval, one.compared.sequential_interval)
    )
    return DecisionContent(
        recommended=_recommended(goal),
        decision=goal.decision,
        rows={one.variant_id: _row(report, goal, one, axis) for one in compared},
        axis=axis,
        facts=facts_of(report, leader_of(report), reached_on=reached_on),
        owner=owner_of(asked),
        passed=sum(one.status == "ok" for one in report.health),
        warnings=[one for one in report.health if one.status == "warning"],
        risks=_risks(report, goal),
    )


def _row(report: Report, goal: GoalReport, variant: VariantResult, axis: Axis) -> VariantRow:
    word = STATUS_WORDS[row_status(report, goal, variant)]
    return VariantRow(variant=variant, word=word, bar=bar_of(report, goal, variant, axis, word))


def _recommended(goal: GoalReport) -> str | None:
    """Return the choice of the form: the id of the variant that wins, or that the control stays."""
    decision = goal.decision
    if decision.recommendation == "rollback" or decision.reason == "no_difference":
        return KEEP
    shipped = (one.variant_id for one in goal.variants if one.variant_name == decision.variant_name)
    return next(shipped, None) if decision.recommendation == "ship" else None


def _risks(report: Report, goal: GoalReport) -> Mapping[str, str]:
    """Name the open risks of shipping any of the variants, each with its sentences."""
    risks: dict[str, str] = {}
    for variant in challengers(goal):
        for one in open_risks(report, variant.variant_id):
            said = risks.get(one.risk)
            risks[one.risk] = one.message if said in {None, one.message} else f"{said} {one.message}"
    return risks
