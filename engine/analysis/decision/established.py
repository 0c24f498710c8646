"""Findings of a look: what holds at every look, and what the one look at the plan shows.

Arrays have any leading axes, then goals by variants. The rule and its error rates are described in
docs/statistics.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.decision.look_statistics import LookStatistics
from engine.analysis.evidence.recorded_looks import RecordedComparison, RecordedLook
from engine.design.planning.required_sample import NON_INFERIORITY_CRITICAL
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.frequentist.multiple_testing import prefer_primary
from engine.stats.log_p_values import log_p_normal
from engine.stats.sequential import confidence_sequence_boundary

# Level of the equivalence test, and of all guardrails together (two-sided, of which one side is harm).
EQUIVALENCE_LEVEL: Final = 0.05
GUARDRAIL_LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Established(ArrayRecord):
    """Findings that are established and kept, in the shape of the look's statistics.

    `crosses` its boundary upwards, on any day, which `wins` against the control from the second week on;
    `loses`, `equivalent` within the margin of no relevant difference, `broken` guardrails, and those
    shown to be `non_inferior`, where the experiment asks for that.
    """

    crosses: BoolArray
    wins: BoolArray
    loses: BoolArray
    equivalent: BoolArray
    broken: BoolArray
    non_inferior: BoolArray

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> "Established":
        """Return findings of no look."""
        return cls(**{name: np.zeros(shape, bool) for name in cls.__dataclass_fields__})

    def also(self, other: "Established") -> "Established":
        """Keep the findings of both."""
        return Established.combine(lambda pair: pair[0] | pair[1], [self, other])


def recorded_findings(data: AnalysisData, look: RecordedLook) -> Established:
    """Arrange what a look established, goals by variants; nothing of goals that are newer than the look."""

    def flags(of: Callable[[RecordedComparison], bool]) -> BoolArray:
        found = np.zeros(data.evidence.conversions.shape, bool)
        for row, goal in enumerate(data.experiment.goals):
            by_variant = look.comparisons.get(goal.id, {})
            for column, variant in enumerate(data.experiment.variants):
                if variant.id in by_variant:
                    found[row, column] = of(by_variant[variant.id])
        return found

    return Established(
        crosses=flags(lambda one: one.crosses or one.wins),
        wins=flags(lambda one: one.wins),
        loses=flags(lambda one: one.loses),
        equivalent=flags(lambda one: one.is_equivalent),
        broken=flags(lambda one: one.is_broken),
        non_inferior=flags(lambda one: one.is_non_inferior),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRoles:
    """Roles of the goals, one flag each: the primary goal and the guardrails; the others are secondary.

    With `requires_non_inferiority` each guardrail must be shown to lose no more than its margin.
    """

    is_primary: BoolArray
    is_guardrail: BoolArray
    requires_non_inferiority: bool = False

    @property
    def guardrail_alpha(self) -> float:
        """Two-sided level of one guardrail: the level is shared among them."""
        return GUARDRAIL_LEVEL / max(int(self.is_guardrail.sum()), 1)


def established_at_any_look(  # noqa: PLR0913  # a look and the terms of its boundary
    look: LookStatistics,
    *,
    roles: GoalRoles,
    alpha: float,
    fraction: FloatArray,
    is_first_week_over: BoolArray,
    primary_critical: FloatArray | None = None,
) -> Established:
    """Find what holds at every look: what lies beyond the confidence sequence.

    `alpha` is the two-sided level of one comparison, `fraction` the visitors over those that the sequence is
    tuned to; it and `is_first_week_over` have the leading axes. A winner, or no difference, is established
    from the second week on; a loss, or harm, on any day. Among secondary goals the false discovery rate is
    controlled. `primary_critical` is the critical |z| of the primary goal where a group-sequential boundary
    takes the place of the confidence sequence, with the leading axes.
    """
    at = np.asarray(fraction, np.float64)[..., None, None]
    z = np.where(look.is_monitored, look.z, np.nan)
    log_p = np.where(np.isnan(z), np.nan, confidence_sequence_boundary.log_p_value(z, at, alpha))
    wins, loses = _calls(z, log_p, roles, alpha, primary_critical)
    limit = confidence_sequence_boundary.critical_value(at, EQUIVALENCE_LEVEL)
    harm_limit = confidence_sequence_boundary.critical_value(at, roles.guardrail_alpha)
    week_over = np.asarray(is_first_week_over)[..., None, None]
    return Established(
        crosses=wins,
        wins=wins & week_over,
        loses=loses,
        equivalent=_beyond(look, limit) & look.is_monitored & week_over,
        broken=_broken(look, harm_limit, roles, monitored=look.is_monitored),
        non_inferior=_non_inferior(look, limit, roles),
    )


def established_at_plan(  # noqa: PLR0913  # a look and the terms of its tests
    look: LookStatistics,
    *,
    roles: GoalRoles,
    alpha: float,
    log_p: FloatArray | None = None,
    tests_differences: bool = True,
    primary_critical: FloatArray | None = None,
) -> Established:
    """Find what the one look at the plan shows, by ordinary tests at level `alpha`.

    `log_p` are two-sided and adjusted for several variants; without them those of z are compared. Without
    `tests_differences` winners and losers are left to the confidence sequence, as an always-valid experiment
    wants it. `primary_critical` is as in `established_at_any_look`.
    """
    z = np.where(look.is_enough & tests_differences, look.z, np.nan)
    compared = log_p_normal(z) if log_p is None else np.where(np.isnan(z), np.nan, log_p)
    wins, loses = _calls(z, compared, roles, alpha, primary_critical)
    critical = float(-scipy.special.ndtri(EQUIVALENCE_LEVEL))
    harm_limit = float(-scipy.special.ndtri(roles.guardrail_alpha / 2.0))
    return Established(
        crosses=wins,
        wins=wins,
        loses=loses,
        equivalent=_beyond(look, np.asarray(critical)) & look.is_enough,
        broken=_broken(look, np.asarray(harm_limit), roles, monitored=look.is_monitored),
        non_inferior=_non_inferior(look, np.asarray(NON_INFERIORITY_CRITICAL), roles),
    )


def _calls(
    z: FloatArray,
    log_p: FloatArray,
    roles: GoalRoles,
    alpha: float,
    primary_critical: FloatArray | None,
) -> tuple[BoolArray, BoolArray]:
    """Call winners and losers; a guardrail is judged by its margin, so it takes no part."""
    counted = np.where(roles.is_guardrail[:, None], np.nan, log_p)
    called = prefer_primary(counted, roles.is_primary, axis=-2) <= np.log(alpha)
    if primary_critical is not None:
        is_beyond = np.abs(z) >= np.asarray(primary_critical)[..., None, None]
        called = np.where(roles.is_primary[:, None], is_beyond, called)
    return np.asarray(called & (z > 0)), np.asarray(called & (z < 0))


def _beyond(look: LookStatistics, critical: FloatArray) -> BoolArray:
    return np.asarray((look.above > critical) & (look.below > critical))


def _broken(
    look: LookStatistics, critical: FloatArray, roles: GoalRoles, *, monitored: BoolArray
) -> BoolArray:
    """Flag broken guardrails: by z, or by the exact test where conversions are few."""
    few = ~np.isnan(look.log_p_margin)
    by_count = look.log_p_margin <= np.log(roles.guardrail_alpha)
    by_z = (look.margin_z < -critical) & monitored
    return np.asarray(np.where(few, by_count, by_z) & roles.is_guardrail[:, None])


def _non_inferior(look: LookStatistics, critical: FloatArray, roles: GoalRoles) -> BoolArray:
    """Flag guardrails that are shown to lose no more than their margins, where that is asked for.

    Schultzberg, Ankargren and Frånberg (2024), "Risk-aware product decisions in A/B tests with multiple
    metrics": all must be shown, so that the level of each is not divided.
    """
    is_shown = (look.margin_z > critical) & look.is_monitored & ~look.lacks_margin
    return np.asarray(is_shown & roles.is_guardrail[:, None] & roles.requires_non_inferiority)
