"""Kept verdicts: what lists say of an experiment's last report, and what has changed in it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, Literal

from engine.analysis.results.answer_fields import NOT_ANSWERED, AnswerField, described
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.report import (
    CheckStatus,
    GoalReport,
    Reason,
    Recommendation,
    Report,
)
from engine.analysis.results.status_words import shown_status
from engine.analysis.results.variant_result import Interval, VariantStatus
from engine.analysis.results.verdict_words import Verdict, verdict_of

ChangeKind = Literal["verdict", "health", "plan", "status", "weights", "settings"]
# Older ones are in the recorded looks and in the audit trail.
MOST_CHANGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """Change of the primary goal in one variant: the one that the verdict is about, or the best so far."""

    variant_id: str
    variant_name: str
    status: Annotated[
        VariantStatus, described("`winner` or `loser` only where the verdict rests on it, as on pages.")
    ]
    improvement: Annotated[float | None, AnswerField("percent", "Change in percent of the control.")]
    improvement_interval: Annotated[Interval | None, AnswerField("percent", "For one look.")]
    sequential_interval: Annotated[
        Interval | None, AnswerField("percent", "Valid at every look; null where none is computed.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCheck:
    """A health check that warns or gives the alarm."""

    check: str
    status: Annotated[CheckStatus, described("`warning`, or `alarm` where no verdict is given.")]
    message: Annotated[
        str,
        described(
            "What was found, with its figures.",
            example="The visitors are split 52.1% to 47.9% instead of 50.0% to 50.0%.",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentChange:
    """A change of an experiment or of what its data say."""

    at: Annotated[datetime, described("Time of the change, in UTC.")]
    kind: Annotated[
        ChangeKind,
        described(
            "`verdict` and `health` of the data, and a `plan` that was reached; of the experiment its "
            "`status`, `weights` or other `settings`."
        ),
    ]
    before: Annotated[
        str | None, described("The value before, such as a verdict; null for none.", example="keep_running")
    ] = None
    after: Annotated[
        str | None, described("The value after, or the fields that changed.", example="ship")
    ] = None
    actor: Annotated[
        str | None,
        described("Who changed it; null for what the data say.", example="key_p2v7xk5qmt3chn6zd4wr"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVerdict:
    """The verdict of an experiment's last report, as lists show it.

    `since` is the time from which it holds, and `counted_at` that up to which events were counted.
    """

    verdict: Annotated[Verdict, described("The recommendation; `no_difference` apart from other reviews.")]
    recommendation: Recommendation
    reason: Reason | None
    recommendation_label: str
    headline: str
    next_step: str
    goal_id: str
    goal_name: str
    visitors: int
    conversions: int
    lift: Annotated[Lift | None, described("Null where no variant can be compared yet.")]
    plan: Annotated[PlanReport, described("The sample plan, with its progress.")]
    open_checks: Annotated[tuple[OpenCheck, ...], described("Alarms first.")]
    projected_annual_revenue_impact_cents: int | None
    revenue_currency: str
    counted_at: Annotated[datetime, described("Time up to which events were counted.")]
    since: Annotated[datetime, described("Time from which this verdict holds.")]
    # Newest first.
    changes: Annotated[tuple[ExperimentChange, ...], NOT_ANSWERED] = ()


def kept_verdict_of(report: Report) -> KeptVerdict | None:
    """Return what is kept of a report; None without a goal, and before the first count."""
    goal = report.primary
    if goal is None or report.as_of is None:
        return None
    decision, plan = goal.decision, report.plan
    return KeptVerdict(
        verdict=verdict_of(decision.recommendation, decision.reason),
        recommendation=decision.recommendation,
        reason=decision.reason,
        recommendation_label=decision.recommendation_label,
        headline=decision.headline,
        next_step=decision.next_step,
        goal_id=decision.goal_id,
        goal_name=decision.goal_name,
        visitors=decision.visitors,
        conversions=decision.conversions,
        lift=_lift_of(goal),
        plan=plan,
        open_checks=_open_checks(report),
        projected_annual_revenue_impact_cents=decision.projected_annual_revenue_impact_cents,
        revenue_currency=decision.revenue_currency,
        counted_at=report.as_of,
        since=report.as_of,
    )


def following(kept: KeptVerdict | None, seen: KeptVerdict) -> KeptVerdict:
    """Return what is seen now, with the changes since what was kept; that where it counted more events."""
    if kept is None:
        return seen
    if kept.counted_at > seen.counted_at:
        return kept
    changes = (*_changes(kept, seen), *kept.changes)[:MOST_CHANGES]
    since = kept.since if kept.verdict == seen.verdict else seen.counted_at
    return replace(seen, since=since, changes=changes)


def _changes(kept: KeptVerdict, seen: KeptVerdict) -> Iterator[ExperimentChange]:
    at = seen.counted_at
    if kept.verdict != seen.verdict:
        yield ExperimentChange(at=at, kind="verdict", before=kept.verdict, after=seen.verdict)
    if seen.plan.is_reached and not kept.plan.is_reached:
        yield ExperimentChange(at=seen.plan.reached_at or at, kind="plan", after="reached")
    before, after = (
        {one.check for one in each.open_checks if one.status == "alarm"} for each in (kept, seen)
    )
    for check in sorted(after - before):
        yield ExperimentChange(at=at, kind="health", after=check)
    for check in sorted(before - after):
        yield ExperimentChange(at=at, kind="health", before=check)


def _open_checks(report: Report) -> tuple[OpenCheck, ...]:
    found = [
        OpenCheck(check=one.check, status=one.status, message=one.message)
        for one in report.health
        if one.is_open
    ]
    return tuple(sorted(found, key=lambda one: one.status != "alarm"))


def _lift_of(goal: GoalReport) -> Lift | None:
    """Return the lift of the variant that the decision names; None where there is none to compare."""
    named = (one for one in goal.variants if one.variant_name == goal.decision.variant_name)
    leader = next((one for one in named if not one.is_control), None)
    if leader is None:
        return None
    return Lift(
        variant_id=leader.variant_id,
        variant_name=leader.variant_name,
        status=shown_status(leader.status, goal.decision),
        improvement=leader.improvement,
        improvement_interval=leader.improvement_interval,
        sequential_interval=leader.compared.sequential_interval,
    )
