"""Decisions on simulated tests at every daily look, by the functions of the decision rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.monitoring import limit_at_last
from engine.analysis.decision.early_harm import early_harm
from engine.analysis.decision.established import (
    Established,
    GoalRoles,
    established_at_any_look,
    established_at_plan,
)
from engine.analysis.decision.experiment_decision import situation_of
from engine.analysis.decision.look_statistics import LookStatistics
from engine.analysis.decision.rule import RULE, Situation, choose_row
from engine.calibration.decisions.daily_statistics import compare_days, guardrail_margins
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays
from engine.design.planning import required_sample
from engine.design.planning.always_valid_plan import PLAN_DAYS, drift_at_pace, drift_by_day
from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.stats.arrays import BoolArray, FloatArray, IntArray

SHIP: Final = next(i for i, row in enumerate(RULE) if row.recommendation == "ship")
ROLLBACK: Final = next(i for i, row in enumerate(RULE) if row.recommendation == "rollback")
NO_DIFFERENCE: Final = next(i for i, row in enumerate(RULE) if row.reason == "no_difference")


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyDecisions:
    """Decisions of R runs on D days: rows of RULE.

    `plan_day` is the index of the day of the look at the plan, D where it is not reached. `findings` and
    `ramp_harm`, on which a ramp acts, are (R, D, G, V). `holds_at_every_look` flags actions that do not rest
    on the one look at the plan.
    """

    action: IntArray
    plan_day: IntArray
    findings: Established
    ramp_harm: BoolArray
    holds_at_every_look: Callable[[], BoolArray]


def decide_daily(days: SimulatedDays) -> DailyDecisions:
    """Decide on every run at every look, each look being recorded."""
    plan, roles = _DailyPlan.of(days), _roles(days.case)
    look = compare_days(days, equivalence_margin=plan.equivalence_margin)
    limit = _spending_limits(days)
    at_any_look = _kept(_at_any_look(days.case, look, roles, plan, limit), plan)
    at_plan = established_at_plan(
        look,
        roles=roles,
        alpha=days.case.alpha,
        tests_differences=days.case.sequential != "always_valid",
        primary_critical=limit,
    )
    is_judged = is_look_at_plan(plan.day, len(days.visitors))[..., None, None]
    recorded = at_plan.also(at_any_look).map(
        lambda flags: np.asarray(np.logical_or.accumulate(flags & is_judged, axis=1))
    )
    findings = at_any_look.also(recorded)

    def rows(established: Established) -> IntArray:
        return choose_row(_situation(days, look, established, roles, plan))

    action = rows(findings)
    return DailyDecisions(
        action=action,
        plan_day=plan.day,
        findings=findings,
        ramp_harm=_ramp_harm(days, look, roles, at_any_look),
        holds_at_every_look=lambda: np.asarray(rows(at_any_look) == action),
    )


def _ramp_harm(
    days: SimulatedDays, look: LookStatistics, roles: GoalRoles, at_any_look: Established
) -> BoolArray:
    """Find what a ramp acts on by each day; nothing without one."""
    if not days.case.ramp:
        return np.zeros(look.z.shape, bool)
    early = early_harm(look, roles=roles, alpha=days.case.alpha, visitors=information(days))
    found = (at_any_look.loses & roles.is_primary[:, None]) | at_any_look.broken | early
    return np.asarray(np.logical_or.accumulate(found, axis=1))


def information(days: SimulatedDays) -> FloatArray:
    """Return what plans and sequences count on each day: known outcomes, all variants together."""
    return np.asarray(days.visitors.sum(axis=-1))


def is_look_at_plan(plan_day: IntArray, days: int) -> BoolArray:
    """Flag the one look at the plan, runs by days."""
    return np.asarray(np.arange(days) == plan_day[:, None])


@dataclass(frozen=True, slots=True, kw_only=True)
class _DailyPlan:
    """Plans at each look, runs by days.

    `day` is the index of the look at the plan; `fraction` is of the visitors that the confidence sequence is
    tuned to; `equivalence_margin` broadcasts to runs by days by goals by variants.
    """

    day: IntArray
    is_reached: BoolArray
    is_after: BoolArray
    fraction: FloatArray
    equivalence_margin: FloatArray

    @classmethod
    def of(cls, days: SimulatedDays) -> Self:
        case, collected = days.case, information(days)
        count, ran = len(collected), np.arange(1.0, len(collected) + 1)
        required, margin = _required(days)
        reached = required_sample.is_reached(collected, ran, required, is_given=case.is_given)
        day = np.where(reached.any(axis=1), reached.argmax(axis=1), count)
        is_after = np.arange(count) > day[:, None]
        traffic = case.traffic(max(count, LAST_DAY)).cumsum()
        tuned = required_sample.reachable_visitors(
            days.entered.sum(axis=-1),
            traffic[:count],
            required,
            is_given=case.is_given,
            last_day=traffic[LAST_DAY - 1 - case.known_after],
        )
        tuned = np.where(np.isfinite(tuned) & (tuned > 0), tuned, np.maximum(collected, 1.0))
        at_plan = collected[np.minimum(day, count - 1)][:, None]
        return cls(
            day=day,
            is_reached=np.asarray(np.arange(count) >= day[:, None]),
            is_after=is_after,
            fraction=required_sample.observed_fraction(collected, tuned, np.where(is_after, at_plan, np.nan)),
            equivalence_margin=margin,
        )


def _required(days: SimulatedDays) -> tuple[FloatArray, FloatArray]:
    """Return the visitors required at each look, runs by days, and the margin of equivalence."""
    case, together = days.case, days.moments.sum_over(-1)
    shape = days.conversions.shape[:2]
    if case.is_given:
        detected = required_sample.detectable_effect(
            mean=together.mean,
            variance=together.variance,
            visitors=case.planned,
            shares=case.shares,
            drift=case.drift,
        )
        return np.full(shape, float(case.planned)), np.fmin(case.relevant_effect, detected)[..., None]

    known = np.maximum(days.visitors.sum(axis=-1), 1.0)
    conversion_rate = days.conversions[..., 0, :].sum(axis=-1) / known

    def required(drift: npt.ArrayLike) -> FloatArray:
        """Compute the visitors at each mean z, along a last axis."""
        return required_sample.required_visitors(
            mean=together.mean[..., :1],
            variance=together.variance[..., :1],
            conversion_rate=conversion_rate[..., None],
            minimum_effect=case.minimum_effect,
            shares=case.shares,
            drift=drift,
            least_conversions=case.least_conversions,
        )

    drift = np.array(case.planned_drift)
    if case.sequential == "always_valid":
        per_day = float(case.daily_visitors.sum())
        by_day = required(drift_by_day(PLAN_DAYS, case.alpha, case.power_of_each))
        drift = drift_at_pace(by_day, per_day, case.alpha, case.power_of_each)
    guardrails = together[..., 1 : 1 + case.guardrails]
    guarded = case.guardrail_sample(guardrails.mean, guardrails.variance)
    return np.maximum(required(drift[..., None])[..., 0], guarded), np.full(
        (1, 1, 1, 1), case.relevant_effect
    )


def _at_any_look(
    case: DecisionCase,
    look: LookStatistics,
    roles: GoalRoles,
    plan: _DailyPlan,
    limit: FloatArray | None,
) -> Established:
    """Find what holds at every look: by `limit` before the plan, where there is one."""

    def find(critical: FloatArray | None) -> Established:
        return established_at_any_look(
            look,
            roles=roles,
            alpha=case.alpha,
            fraction=plan.fraction,
            is_first_week_over=np.arange(1, plan.fraction.shape[1] + 1) >= FIRST_DAY,
            primary_critical=critical,
        )

    if limit is None:
        return find(None)
    return Established.where(plan.is_after[..., None, None], find(None), find(limit))


def _kept(now: Established, plan: _DailyPlan) -> Established:
    """Keep what each look established; the look at the plan keeps all that it found as one record."""
    is_plan = (plan.is_reached & ~plan.is_after)[..., None, None]
    return now.map(
        lambda flags: np.asarray(flags | np.logical_or.accumulate(flags & ~is_plan, axis=1)),
    )


def _spending_limits(days: SimulatedDays) -> FloatArray | None:
    """Compute the critical |z| of group-sequential looks, (1, D): their given sample is that of all runs."""
    case, collected = days.case, information(days).astype(np.int64).tolist()
    if case.sequential != "group_sequential":
        return None
    limits = [
        limit_at_last(collected[:day], float(case.planned), case.alpha, running_days=float(day))
        for day in range(1, len(collected) + 1)
    ]
    return np.array([limits])


def _roles(case: DecisionCase) -> GoalRoles:
    return GoalRoles(
        is_primary=np.arange(case.goals) == 0,
        is_guardrail=~np.isnan(guardrail_margins(case)),
        requires_non_inferiority=case.non_inferior,
    )


def _situation(
    days: SimulatedDays,
    look: LookStatistics,
    established: Established,
    roles: GoalRoles,
    plan: _DailyPlan,
) -> Situation:
    mean = days.moments.mean[..., 0, :]
    is_variant = np.arange(mean.shape[-1]) != 0
    no = np.zeros(plan.is_reached.shape, bool)
    return situation_of(
        established,
        roles,
        look=look,
        turns=np.zeros(look.z.shape, bool),
        is_compared=np.broadcast_to(is_variant, mean.shape),
        gain=np.where(is_variant, mean - mean[..., [0]], np.nan),
        has_alarm=no,
        measured_differs=no,
        is_outcome_open=np.broadcast_to(information(days) == 0, no.shape),
        has_data=np.asarray(look.is_enough[..., 0, :].any(axis=-1)),
        is_reached=plan.is_reached,
        has_ended=no,
        is_exploratory=no,
    )
