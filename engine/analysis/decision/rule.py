"""Decision rule: from a situation to one action, as a table whose first matching row decides.

Arrays have any leading axes, one cell an experiment at one look; variants are along the last axis.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.results.report import Reason, Recommendation
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation(ArrayRecord):
    """Facts that an action follows from.

    Of each variant: `is_compared` flags those with a control to compare with and traffic; `crosses` (its
    boundary upwards, on any day), `wins`, `loses` and `is_equivalent` are established on the primary goal,
    `is_broken` on any guardrail and `is_harmed` on any other goal; some guardrail is not known yet
    (`is_unknown`), can't be judged (`is_unjudged`), is worse at this look than its margin allows
    (`is_beyond_margin`), or must be shown to be within it, and is not (`is_inconclusive`); a win, or the loss
    or harm by which it fails, is one visitor's (`rests_on_one`); `gain` orders winners. Of the experiment: a
    health check `has_alarm`, or says that variants are measured of different visitors (`measured_differs`), a
    comparison `has_data`, visitors entered but no outcome is known (`is_outcome_open`), its plan
    `is_reached`, it `has_ended`, or it is a segment only (`is_exploratory`).
    """

    is_compared: BoolArray
    crosses: BoolArray
    wins: BoolArray
    loses: BoolArray
    is_equivalent: BoolArray
    is_broken: BoolArray
    is_harmed: BoolArray
    is_unknown: BoolArray
    is_unjudged: BoolArray
    is_beyond_margin: BoolArray
    rests_on_one: BoolArray
    is_inconclusive: BoolArray
    gain: FloatArray
    has_alarm: BoolArray
    measured_differs: BoolArray
    has_data: BoolArray
    is_outcome_open: BoolArray
    is_reached: BoolArray
    has_ended: BoolArray
    is_exploratory: BoolArray

    @property
    def winners(self) -> BoolArray:
        """Variants that win, and do not lose at another look."""
        return self.is_compared & self.wins & ~self.loses

    @property
    def clean_winners(self) -> BoolArray:
        """Winners that harm nothing."""
        return self.winners & ~self.is_broken & ~self.is_harmed

    @property
    def breaking(self) -> BoolArray:
        """Variants that are beyond their boundary, on any day, and break a guardrail.

        In the first week not while another one is beyond its boundary without any harm: that may ship.
        """
        ahead = self.is_compared & self.crosses & ~self.loses
        may_ship = _any(ahead & ~self.is_broken & ~self.is_harmed & ~self.is_equivalent)
        waits = may_ship & ~self.is_reached & ~self.has_ended
        return self.is_broken & (self.winners | (ahead & ~waits[..., None]))

    @property
    def shippable(self) -> BoolArray:
        """Clean winners of which every guardrail is judged, and before the plan within its margin.

        And shown to be within it, where that is asked for.
        """
        is_early = ~(self.is_reached | self.has_ended)[..., None]
        judged = self.clean_winners & ~self.is_unknown & ~self.is_unjudged & ~self.is_inconclusive
        return judged & ~(self.is_beyond_margin & is_early)

    @property
    def failures(self) -> BoolArray:
        """Variants that lose on the primary goal, or break a guardrail without being beyond its boundary."""
        return (
            self.is_compared & ~self.winners & ~self.breaking & ((self.loses & ~self.wins) | self.is_broken)
        )

    @property
    def without_difference(self) -> BoolArray:
        """Variants without a relevant difference, that neither win nor fail."""
        return self.is_compared & self.is_equivalent & ~self.winners & ~self.failures


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A condition with the action that it leads to."""

    applies: Callable[[Situation], BoolArray]
    recommendation: Recommendation
    reason: Reason | None = None


def _any(flags: BoolArray) -> BoolArray:
    return np.asarray(flags.any(axis=-1))


def _all_compared(situation: Situation, flags: BoolArray) -> BoolArray:
    return _any(situation.is_compared) & np.asarray((flags | ~situation.is_compared).all(axis=-1))


def _is_settled_segment(situation: Situation) -> BoolArray:
    settled = _any(situation.winners | situation.breaking) | _all_fail(situation) | _none_differs(situation)
    over = situation.has_data & (situation.is_reached | situation.has_ended)
    return situation.is_exploratory & (settled | over)


def _waits(situation: Situation) -> BoolArray:
    """Tell whether a clean winner has a guardrail whose outcomes are still to come."""
    return _any(situation.clean_winners & situation.is_unknown)


def _all_fail(situation: Situation) -> BoolArray:
    return _all_compared(situation, situation.failures)


def _none_differs(situation: Situation) -> BoolArray:
    every = _all_compared(situation, situation.failures | situation.without_difference)
    return every & _any(situation.without_difference)


RULE: Final[tuple[RuleRow, ...]] = (
    RuleRow(lambda s: s.has_alarm, "fix_data"),
    RuleRow(_is_settled_segment, "review", "exploratory"),
    RuleRow(lambda s: s.measured_differs & ~s.is_exploratory, "review", "measured_differs"),
    RuleRow(lambda s: _any(s.shippable & ~s.rests_on_one), "ship"),
    RuleRow(lambda s: _any(s.shippable), "review", "one_visitor"),
    RuleRow(lambda s: _any(s.clean_winners & s.is_unjudged), "review", "guardrail_unjudged"),
    RuleRow(lambda s: _waits(s) & ~s.is_reached, "keep_running", "guardrail_unknown"),
    RuleRow(_waits, "review", "guardrail_unknown"),
    RuleRow(
        lambda s: _any(s.clean_winners & s.is_inconclusive) & (s.is_reached | s.has_ended),
        "review",
        "guardrail_inconclusive",
    ),
    # Only before the plan: a winner whose guardrail is beyond its margin by now, or not shown within it.
    RuleRow(lambda s: _any(s.clean_winners), "keep_running"),
    RuleRow(lambda s: _any(s.breaking), "review", "guardrail_broken"),
    RuleRow(lambda s: _any(s.winners), "review", "goal_harmed"),
    RuleRow(lambda s: _all_fail(s) & ~_any(s.failures & s.rests_on_one), "rollback"),
    RuleRow(_all_fail, "review", "one_visitor"),
    RuleRow(_none_differs, "review", "no_difference"),
    RuleRow(lambda s: s.is_outcome_open & _any(s.is_compared) & ~s.has_ended, "keep_running"),
    RuleRow(lambda s: ~s.has_data, "insufficient_data"),
    RuleRow(lambda s: ~s.is_reached & ~s.has_ended, "keep_running"),
    RuleRow(lambda s: ~s.is_reached, "review", "ended_early"),
    RuleRow(lambda s: np.ones(s.is_reached.shape, bool), "review", "undecided"),
)


def choose_row(situation: Situation) -> IntArray:
    """Find the first row of RULE that applies to each situation."""
    return np.asarray(np.stack([row.applies(situation) for row in RULE]).argmax(axis=0))


def choose_variant(situation: Situation) -> IntArray:
    """Choose the variant that an action is about: the best to ship, else the best of the others.

    The order is: what can be shipped, clean winners, winners and those `breaking` a guardrail, variants that
    neither win nor fail, failures; by `gain` within each. -1 where none is compared.
    """
    if not situation.is_compared.shape[-1]:
        return np.full(situation.is_compared.shape[:-1], -1)
    rank = np.where(situation.failures, 1, 2)
    rank = np.where(situation.winners | situation.breaking, 3, rank)
    rank = np.where(situation.clean_winners, 4, rank)
    rank = np.where(situation.shippable, 5, rank)
    rank = np.where(situation.shippable & ~situation.rests_on_one, 6, rank)
    rank = np.where(situation.is_compared, rank, 0)
    first = rank == rank.max(axis=-1, keepdims=True)
    best = np.where(first, np.nan_to_num(situation.gain, nan=-np.inf), -np.inf)
    # All may be minus infinity, where argmax must still pick one of the first rank.
    order = np.argmax(np.where(first, np.where(np.isfinite(best), best, -1e300), -np.inf), axis=-1)
    return np.where(_any(situation.is_compared), order, -1)
