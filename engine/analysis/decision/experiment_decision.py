"""Decision on an experiment: findings of this and of recorded looks, and the action that follows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.influence import Influence, influence_of
from engine.analysis.comparison.monitoring import spending_limit
from engine.analysis.comparison.significance import Significance
from engine.analysis.decision.established import (
    Established,
    GoalRoles,
    established_at_any_look,
    established_at_plan,
    recorded_findings,
)
from engine.analysis.decision.influential_visitors import find_turns
from engine.analysis.decision.look_statistics import LookStatistics, look_statistics
from engine.analysis.decision.rule import RULE, RuleRow, Situation, choose_row, choose_variant
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.results.report import DOUBTFUL, Reason, Recommendation
from engine.stats.arrays import BoolArray, FloatArray

_SETTLED: Final = frozenset({"guardrail_broken", "goal_harmed", "no_difference"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Action on an experiment, with what it rests on.

    `variant` is the column that the action is about, -1 without any; `situation` has the flags of every
    variant. Goals by variants: `at_any_look` is what holds at every look by now, `findings` all that is
    established, at the plan too. `holds_at_every_look` where the action does not rest on the one look at
    the plan. `influence` is that of single visitors, None where it is not known, and `turns` flags the
    findings that one of them makes. Derived: `is_settled` where a win, a harm or the absence of a relevant
    difference is established, and `is_doubtful` where the data are not to be relied on, so that what they
    show is not kept.
    """

    recommendation: Recommendation
    reason: Reason | None
    variant: int
    situation: Situation
    statistics: LookStatistics
    at_any_look: Established
    findings: Established
    holds_at_every_look: bool
    influence: Influence | None
    turns: BoolArray
    is_settled: bool = field(init=False)
    is_doubtful: bool = field(init=False)

    def __post_init__(self) -> None:
        is_settled = self.recommendation in {"ship", "rollback"} or self.reason in _SETTLED
        object.__setattr__(self, "is_settled", is_settled)
        is_doubtful = self.recommendation == "fix_data" or self.reason in DOUBTFUL
        object.__setattr__(self, "is_doubtful", is_doubtful)


def decide_experiment(
    data: AnalysisData,
    significance: Significance,
    *,
    has_alarm: bool,
    measured_differs: bool = False,
    is_exploratory: bool = False,
) -> Decision:
    """Decide on an experiment; `is_exploratory` where the data are of a segment only.

    `has_alarm` where a health check doubts all data, `measured_differs` where one says that a variant's
    numbers are of other visitors than the control's. A segment is judged without the looks that were
    recorded of all visitors.
    """
    statistics = look_statistics(data, significance)
    looks = () if is_exploratory else data.looks
    at_any_look = _at_any_look(data, statistics, looks)
    at_plan = _at_plan(data, significance, statistics, looks)
    findings = at_any_look if at_plan is None else at_any_look.also(at_plan)
    influence = None if is_exploratory else influence_of(data)
    turns = find_turns(
        data, influence, statistics, findings, roles=goal_roles(data), boundary=_boundary(data)
    )

    def judge(established: Established) -> tuple[Situation, RuleRow]:
        situation = _situation(
            data,
            significance,
            statistics,
            established,
            turns=turns,
            has_alarm=has_alarm,
            measured_differs=measured_differs,
            is_exploratory=is_exploratory,
        )
        return situation, RULE[int(choose_row(situation))]

    situation, row = judge(findings)
    return Decision(
        recommendation=row.recommendation,
        reason=row.reason,
        variant=int(choose_variant(situation)),
        situation=situation,
        statistics=statistics,
        at_any_look=at_any_look,
        findings=findings,
        holds_at_every_look=at_plan is None or judge(at_any_look)[1] == row,
        influence=influence,
        turns=turns,
    )


def goal_roles(data: AnalysisData) -> GoalRoles:
    """Return the primary goal and the guardrails."""
    rows = np.arange(len(data.plan.is_guardrail))
    return GoalRoles(
        is_primary=rows == (-1 if data.plan.primary is None else data.plan.primary),
        is_guardrail=data.plan.is_guardrail,
        requires_non_inferiority=data.plan.requires_non_inferiority,
    )


def _at_any_look(
    data: AnalysisData, statistics: LookStatistics, looks: Sequence[RecordedLook]
) -> Established:
    """Find what holds at every look by now, and what did at a recorded look."""
    kept = Established.nothing(statistics.z.shape)
    for look in looks:
        if not look.is_at_plan:
            kept = kept.also(recorded_findings(data, look))
    if data.plan.is_bandit:
        return kept
    now = established_at_any_look(
        statistics,
        roles=goal_roles(data),
        alpha=data.plan.two_sided_alpha,
        fraction=np.asarray(data.sample.fraction),
        is_first_week_over=np.asarray(data.sample.is_first_week_over),
        primary_critical=None if data.sample.recorded else _boundary(data),
    )
    return kept.also(now)


def _at_plan(
    data: AnalysisData,
    significance: Significance,
    statistics: LookStatistics,
    looks: Sequence[RecordedLook],
) -> Established | None:
    """Return what the look at the plan showed, as recorded, or this look's, if it is the first one there.

    None before the plan. Holm's and Dunnett's p values are compared with the level of all comparisons.
    """
    if data.sample.recorded is not None and looks:
        return recorded_findings(data, data.sample.recorded)
    if not data.sample.is_reached:
        return None
    is_adjusted = data.plan.statistics.correction != "bonferroni" and not data.plan.is_bayesian
    return established_at_plan(
        statistics,
        roles=goal_roles(data),
        alpha=data.plan.family_alpha if is_adjusted else data.plan.two_sided_alpha,
        log_p=significance.effects.log_p if is_adjusted else None,
        tests_differences=data.plan.statistics.sequential != "always_valid",
        primary_critical=_boundary(data),
    )


def _boundary(data: AnalysisData) -> FloatArray | None:
    """Return the critical |z| of a group-sequential experiment's primary goal; None for the others."""
    if data.plan.statistics.sequential != "group_sequential":
        return None
    return np.asarray(spending_limit(data))


def _situation(  # noqa: PLR0913  # facts of the experiment and of this look
    data: AnalysisData,
    significance: Significance,
    statistics: LookStatistics,
    established: Established,
    *,
    turns: BoolArray,
    has_alarm: bool,
    measured_differs: bool,
    is_exploratory: bool,
) -> Situation:
    row, variants = data.plan.primary, len(data.plan.weights)
    compared = np.zeros(variants, bool)
    compared[data.plan.challengers] = True
    compared &= (data.plan.weights > 0) | (data.evidence.visitors > 0)
    enough = significance.is_enough[row] if row is not None else np.zeros(variants, bool)
    return situation_of(
        established,
        goal_roles(data),
        look=statistics,
        turns=turns,
        is_compared=compared,
        gain=np.full(variants, np.nan) if row is None else significance.gain[row],
        has_alarm=np.asarray(has_alarm),
        measured_differs=np.asarray(measured_differs),
        has_data=np.asarray((enough & compared).any()),
        is_outcome_open=np.asarray(data.sample.visitors > 0 and data.sample.collected == 0),
        is_reached=np.asarray(data.sample.is_reached),
        has_ended=np.asarray(data.experiment.status in {"completed", "archived"}),
        is_exploratory=np.asarray(is_exploratory),
    )


def situation_of(  # noqa: PLR0913  # the facts of a situation
    established: Established,
    roles: GoalRoles,
    *,
    look: LookStatistics,
    turns: BoolArray,
    is_compared: BoolArray,
    gain: FloatArray,
    has_alarm: BoolArray,
    measured_differs: BoolArray,
    has_data: BoolArray,
    is_outcome_open: BoolArray,
    is_reached: BoolArray,
    has_ended: BoolArray,
    is_exploratory: BoolArray,
) -> Situation:
    """Arrange findings, with any leading axes, as the situation that an action follows from.

    `turns` flags those that one visitor makes.
    """
    primary, secondary = roles.is_primary, ~roles.is_primary & ~roles.is_guardrail

    def of_primary(flags: BoolArray) -> BoolArray:
        return np.asarray(flags[..., primary, :].any(axis=-2))

    def of_guardrails(flags: BoolArray) -> BoolArray:
        return np.asarray((flags & ~established.broken)[..., roles.is_guardrail, :].any(axis=-2))

    may_still_come = ~has_ended[..., None]
    is_unjudged = of_guardrails(~look.is_judged & look.lacks_margin)
    is_unknown = of_guardrails(~look.is_judged & ~look.lacks_margin)

    wins, loses = of_primary(established.wins), of_primary(established.loses)
    solid_failure = of_primary(established.loses & ~turns) | (established.broken & ~turns).any(axis=-2)

    return Situation(
        is_compared=is_compared,
        crosses=of_primary(established.crosses),
        wins=wins,
        loses=loses,
        is_equivalent=of_primary(established.equivalent),
        is_broken=np.asarray(established.broken.any(axis=-2)),
        is_harmed=np.asarray(established.loses[..., secondary, :].any(axis=-2)),
        is_unknown=is_unknown & may_still_come,
        is_unjudged=is_unjudged | (is_unknown & ~may_still_come),
        is_beyond_margin=of_guardrails(look.is_judged & look.is_beyond_margin),
        rests_on_one=np.where(wins & ~loses, of_primary(turns), ~solid_failure & turns.any(axis=-2)),
        is_inconclusive=of_guardrails(~established.non_inferior & roles.requires_non_inferiority),
        gain=gain,
        has_alarm=has_alarm,
        measured_differs=measured_differs,
        has_data=has_data,
        is_outcome_open=is_outcome_open,
        is_reached=is_reached,
        has_ended=has_ended,
        is_exploratory=is_exploratory,
    )
