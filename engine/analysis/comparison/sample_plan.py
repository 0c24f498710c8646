"""Sample plan: the known outcomes at which an experiment is judged, their source, and how far it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np

from engine.analysis.comparison.guardrail_sample import guardrail_power, guardrail_sample, power_of_each
from engine.analysis.comparison.metrics import Metrics
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.pooled_visitors import PooledVisitors, always_valid_drift, visitors_at
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import PlanSource, RecordedLook, outcomes_since, plan_look
from engine.design.planning import required_sample
from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.design.planning.required_sample import POWER
from engine.design.traffic_pace import TrafficPace
from engine.stats.arrays import BoolArray, FloatArray

# By so much may the power of a plan, which is estimated again at every look, be below what it plans for.
_ROUNDING: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """The plan of a test: one for all goals, by the metric of the primary one.

    Its clock are known outcomes of the primary goal: `required_visitors` and `collected` are visitors with
    one, of all variants together, and `visitors` all who entered; all three count clusters where those are
    assigned. `required_visitors` is None where no number is enough; `source` says where it comes from: a
    given sample, blinded re-estimation, the last running day, or data that are complete. `tuned_to` are those
    that the confidence sequence is tuned to, and `at_plan` those at the recorded look at the plan, None
    before it. An outcome is known `known_after` days after the first exposure, 0 where it is at once.
    `outcomes_since` is the time from which recorded looks count outcomes, None where they always did.
    `is_reached` from the first look at the plan on; then all is frozen, and `recorded` is that look once it
    is recorded. `minimum_effect` and `detectable_effect` (by the plan, with 80% power) are relative lifts of
    the primary goal, as shares; `detectable_now` is that of the visitors so far. By goal:
    `equivalence_margins` within which there is no relevant difference, and the loss of a guardrail beyond its
    margin that is detected by the plan (NaN elsewhere): `detectable_harm` as a share, `detectable_loss`
    beyond an absolute one in the metric's unit. `guardrail_power` is that of showing by the plan that a
    guardrail without harm is within its margin, where the experiment asks for it, and
    `planned_guardrail_power` what it plans for. `running_days` is None where days are not known.

    Derived: `is_guardrail_underpowered` flags guardrails that the plan shows within their margins with
    clearly less power than planned for. `progress` is known outcomes over those required, a share of at most
    1, None without a required number; `fraction` those over what the confidence sequence is tuned to, at most
    1 before the plan and above it afterwards. `counts_outcomes` where outcomes are known of some visitors
    only, or later than at the first exposure. `is_first_week_over` where winners may be shipped: after
    FIRST_DAY running days, or where days are not known. `days_left` are those until the plan is reached at
    the pace so far and by the ramp, 0 once it is, None without a pace.
    """

    source: PlanSource
    required_visitors: int | None
    tuned_to: float
    at_plan: int | None
    collected: int
    visitors: int
    known_after: int
    outcomes_since: datetime | None
    running_days: float | None
    pace: TrafficPace | None
    is_reached: bool
    minimum_effect: float
    detectable_effect: float | None
    detectable_now: float | None
    equivalence_margins: FloatArray
    detectable_harm: FloatArray
    detectable_loss: FloatArray
    guardrail_power: FloatArray
    planned_guardrail_power: float
    mean: float | None
    variance: float | None
    recorded: RecordedLook | None = None
    is_guardrail_underpowered: BoolArray = field(init=False)
    progress: float | None = field(init=False)
    counts_outcomes: bool = field(init=False)
    fraction: float = field(init=False)
    is_first_week_over: bool = field(init=False)
    days_left: int | None = field(init=False)

    def __post_init__(self) -> None:
        planned = np.nan if self.at_plan is None else float(self.at_plan)
        is_weak = self.guardrail_power < self.planned_guardrail_power - _ROUNDING
        derived = {
            "is_guardrail_underpowered": np.asarray(is_weak),
            "progress": _progress(self),
            "counts_outcomes": self.known_after > 0 or self.collected != self.visitors,
            "fraction": float(required_sample.observed_fraction(self.collected, self.tuned_to, planned)),
            "is_first_week_over": self.running_days is None or self.running_days >= FIRST_DAY,
            "days_left": _days_left(self),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)


def plan_sample(  # noqa: PLR0913  # everything that a plan depends on
    plan: AnalysisPlan,
    evidence: Evidence,
    metrics: Metrics,
    *,
    goal_ids: Sequence[str],
    pace: TrafficPace | None,
    now: datetime | None = None,
    looks: Sequence[RecordedLook] = (),
    is_finished: bool = False,
) -> SamplePlan:
    """Plan the sample, blinded; `is_finished` where the data are complete and judged by one look.

    `pace` is None where days are not known. A plan that was reached stays as it was recorded.
    """
    running_days = None if pace is None else pace.days
    pooled = PooledVisitors.of(plan, evidence, metrics)
    recorded, row = plan_look(tuple(looks)), plan.primary
    collected, visitors = evidence.known_outcomes(row), int(evidence.assigned.sum())
    known_after = 0 if row is None else int(plan.known_after[row])
    if plan.statistics.sequential == "always_valid":
        days_known = 0.0 if running_days is None else running_days - known_after
        per_day = collected / days_known if days_known > 0 else np.nan
        drift, planned = (
            always_valid_drift(plan, pooled, per_day, power) for power in (POWER, power_of_each(plan))
        )
        pooled = replace(pooled, drift=drift, planned_drift=planned)
    required, source = _required(plan, pooled, collected, is_finished=is_finished)
    if recorded is not None:
        required, source = recorded.plan.required_visitors, recorded.plan.source
    is_given = source == "given"
    days = math.inf if running_days is None else running_days
    unknown = np.nan if required is None else float(required)
    is_reached = recorded is not None or (
        bool(required_sample.is_reached(collected, days, unknown, is_given=is_given or running_days is None))
        if not is_finished
        else collected > 0
    )
    if recorded is None and source == "blinded" and is_reached and (required is None or collected < required):
        source = "last_day"
    last_day = LAST_DAY - known_after
    reachable = float(
        required_sample.reachable_visitors(
            visitors if known_after else collected,
            days if pace is None else pace.so_far,
            unknown,
            is_given=is_given,
            last_day=last_day if pace is None else pace.by(last_day),
        )
    )
    tuned = reachable if np.isfinite(reachable) and reachable > 0 else float(max(collected, 1))
    at_plan = collected if is_reached and source != "given" else tuned
    known_at_plan = None if recorded is None else recorded.known_of(None if row is None else goal_ids[row])
    effects = pooled.detectable(at_plan)
    return SamplePlan(
        source=source,
        required_visitors=required,
        tuned_to=tuned,
        at_plan=known_at_plan,
        collected=collected,
        visitors=visitors,
        known_after=known_after,
        outcomes_since=outcomes_since(looks, now),
        running_days=running_days,
        pace=pace,
        is_reached=is_reached,
        minimum_effect=_minimum_effect(plan),
        detectable_effect=_finite(effects, row) if recorded is None else recorded.plan.detectable_effect,
        detectable_now=_finite(pooled.detectable(collected), row),
        equivalence_margins=_equivalence_margins(plan, pooled, recorded, goal_ids),
        detectable_harm=np.where(np.isnan(plan.margins), np.nan, effects),
        detectable_loss=np.where(np.isnan(plan.absolute_margins), np.nan, pooled.detectable_loss(at_plan)),
        guardrail_power=guardrail_power(
            plan, pooled.mean, pooled.variance, pooled.shares, known_at_plan or at_plan
        ),
        planned_guardrail_power=power_of_each(plan),
        mean=_finite(pooled.mean, row),
        variance=_finite(pooled.variance, row),
        recorded=recorded,
    )


def _required(
    plan: AnalysisPlan, pooled: PooledVisitors, collected: int, *, is_finished: bool
) -> tuple[int | None, PlanSource]:
    if is_finished:
        return collected, "finished"
    if plan.statistics.planned_sample is not None:
        return plan.statistics.planned_sample, "given"
    visitors = np.maximum(
        visitors_at(plan, pooled, pooled.planned_drift),
        guardrail_sample(plan, pooled.mean, pooled.variance, pooled.shares),
    )
    return (int(visitors) if np.isfinite(visitors) else None), "blinded"


def _progress(sample: SamplePlan) -> float | None:
    if sample.required_visitors is None:
        return None
    return 1.0 if sample.is_reached else min(sample.collected / max(sample.required_visitors, 1), 1.0)


def _days_left(sample: SamplePlan) -> int | None:
    if sample.is_reached:
        return 0
    entered, pace = sample.visitors if sample.known_after else sample.collected, sample.pace
    if pace is None or not pace.days or not entered:
        return None
    per_day = entered / pace.so_far
    missing = math.inf if sample.required_visitors is None else sample.required_visitors - sample.collected
    until_known = 0.0 if sample.collected else max(sample.known_after - pace.days, 0.0)
    days = max(pace.days_until(missing / per_day) + until_known, FIRST_DAY - pace.days)
    if sample.source != "given":
        days = min(days, LAST_DAY - pace.days)
    return math.ceil(days - 1e-9) if math.isfinite(days) else None


def _minimum_effect(plan: AnalysisPlan) -> float:
    if plan.primary is None:
        return plan.statistics.minimum_effect_percent / 100
    return float(plan.minimum_effects[plan.primary])


def _equivalence_margins(
    plan: AnalysisPlan, pooled: PooledVisitors, recorded: RecordedLook | None, goal_ids: Sequence[str]
) -> FloatArray:
    """Take each goal's minimum effect; with a given sample what it detects, where that is smaller.

    Those of the look at the plan stay.
    """
    given = plan.statistics.planned_sample
    if given is None:
        return plan.minimum_effects
    margins = np.fmin(plan.minimum_effects, pooled.detectable(given))
    if recorded is None:
        return margins
    kept = recorded.plan.equivalence_margins
    return np.array([kept.get(goal, margin) for goal, margin in zip(goal_ids, margins, strict=True)])


def _finite(values: FloatArray, row: int | None) -> float | None:
    if row is None or not np.isfinite(values[row]):
        return None
    return float(values[row])
