"""Scenarios of decision calibration: true effects, and the figures to take of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.calibration.decisions.daily_decisions import NO_DIFFERENCE, ROLLBACK, SHIP, DailyDecisions
from engine.calibration.decisions.decision_case import DecisionCase
from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.stats.arrays import BoolArray, FloatArray

# Days on which an A/A test is looked at.
WHOLE_LIFE: Final = 84
# Margin of the guardrail that is simulated.
GUARDRAIL_MARGIN: Final = 0.05
# Secondary goals that are harmed where some are.
_HARMED: Final = 2

ENDED_BY_RAMP: Final = "ended by a ramp without harm"
DAYS_UNTIL_HARM: Final = "days until harm is found"
EXPOSED_UNTIL_HARM: Final = "visitors until harm is found"

# One number a run, by the name of the figure.
Figures = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Decisions of simulated runs, and all who `entered` by each day, summarised as one number a run."""

    decisions: DailyDecisions
    entered: FloatArray

    @property
    def by_plan(self) -> BoolArray:
        """Looks up to that at the plan."""
        days = np.arange(self.decisions.action.shape[1])
        return np.asarray(days <= self.decisions.plan_day[:, None])

    def ever(self, row: int, *, by_plan: bool = False) -> FloatArray:
        """Flag runs with an action at any look."""
        return self._any(self.decisions.action == row, by_plan=by_plan)

    def before_second_week(self) -> FloatArray:
        """Flag runs that are shipped, or without a difference, in the first week."""
        early = np.isin(self.decisions.action[:, : FIRST_DAY - 1], (SHIP, NO_DIFFERENCE))
        return np.asarray(early.any(axis=1), np.float64)

    def stops(self, *, by_plan: bool) -> FloatArray:
        """Flag runs that auto-stop would end."""
        holds = self.decisions.holds_at_every_look()
        return self._any((self.decisions.action == SHIP) & holds, by_plan=by_plan)

    def breaks_guardrail(self, *, by_plan: bool) -> FloatArray:
        """Flag runs whose last variant is found to break the guardrail."""
        return self._any(self.decisions.findings.broken[:, :, 1, -1], by_plan=by_plan)

    def calls_equivalent(self) -> FloatArray:
        """Flag runs that end without a difference, the last variant being one of those without."""
        findings = self.decisions.findings
        last = findings.equivalent[:, :, 0, -1] & ~findings.loses[:, :, 0, -1]
        return self._any((self.decisions.action == NO_DIFFERENCE) & last, by_plan=False)

    def days_until_harm(self) -> FloatArray:
        """Days until a ramp finds the last variant to break the guardrail; all where it never does."""
        broken = self.decisions.ramp_harm[:, :, 1, -1]
        first = np.where(broken.any(axis=1), broken.argmax(axis=1), broken.shape[1] - 1)
        return np.asarray(first + 1.0)

    def ends_by_ramp(self) -> FloatArray:
        """Flag runs in which a ramp finds harm."""
        return np.asarray(self.decisions.ramp_harm.any(axis=(1, 2, 3)), np.float64)

    def exposed_until_harm(self) -> FloatArray:
        """Visitors of all variants by then."""
        days = self.days_until_harm().astype(np.int64)
        return np.asarray(self.entered[days - 1], np.float64)

    def share_used(self) -> FloatArray:
        """Share of the planned sample at which a test is decided."""
        settled = np.isin(self.decisions.action, (SHIP, ROLLBACK, NO_DIFFERENCE))
        last = np.minimum(self.decisions.plan_day, settled.shape[1] - 1)
        first = np.where(settled.any(axis=1), settled.argmax(axis=1), last)
        return np.asarray((np.minimum(first, last) + 1.0) / (last + 1.0))

    def secondary_calls(self) -> tuple[BoolArray, BoolArray]:
        """Wins and losses of the last variant on secondary goals by the plan: runs by goals."""
        by_plan = self.by_plan[:, :, None]
        wins, loses = (
            (flags[:, :, 1:, -1] & by_plan).any(axis=1)
            for flags in (self.decisions.findings.wins, self.decisions.findings.loses)
        )
        return np.asarray(wins), np.asarray(loses)

    def _any(self, looks: BoolArray, *, by_plan: bool) -> FloatArray:
        counted = looks & self.by_plan if by_plan else looks
        return np.asarray(counted.any(axis=1), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """True lifts of the last variant on each goal, the days to look, and the figures to take.

    `is_guarded` where the scenario is of cases with guardrails of their own, and `has_guardrail` where it
    gives one with GUARDRAIL_MARGIN to others. `needs_end` where figures are by the plan, so that a given
    sample must be reached; `is_secondary` where the scenario is of cases with secondary goals, `is_ramped`
    where it is of those with a ramp.
    """

    lifts: Callable[[DecisionCase], Sequence[float]]
    days: Callable[[DecisionCase], int]
    figures: Callable[[Outcome], Figures]
    has_guardrail: bool = False
    needs_end: bool = False
    is_secondary: bool = False
    is_guarded: bool = False
    is_ramped: bool = False

    def applies_to(self, case: DecisionCase) -> bool:
        """Check that the case can be simulated in this scenario."""
        if self.is_ramped and not case.ramp:
            return False
        if self.is_secondary != (case.secondary > 0) or self.is_guarded != (case.guardrail is not None):
            return False
        return case.has_end or not (self.needs_end and case.is_given)


def _to_the_plan(case: DecisionCase) -> int:
    """Return the days by which nearly every plan is reached: estimates of it vary."""
    if case.is_given and case.has_end:
        return max(math.ceil(case.plan_day), FIRST_DAY) + 3
    return min(math.ceil(case.plan_day * 1.4) + 3, LAST_DAY)


def _no_effect(outcome: Outcome) -> Figures:
    return {
        "ship": outcome.ever(SHIP, by_plan=True),
        "rollback": outcome.ever(ROLLBACK, by_plan=True),
        "ship by day 84": outcome.ever(SHIP),
        "rollback by day 84": outcome.ever(ROLLBACK),
        "auto-stop": outcome.stops(by_plan=True),
        "auto-stop by day 84": outcome.stops(by_plan=False),
        "no difference": outcome.ever(NO_DIFFERENCE, by_plan=True),
    }


def _effect(outcome: Outcome) -> Figures:
    return {
        "power": outcome.ever(SHIP, by_plan=True),
        "sample used": outcome.share_used(),
    }


def _double_effect(outcome: Outcome) -> Figures:
    return {
        "auto-stop at 2x": outcome.stops(by_plan=True),
        "before day 7": outcome.before_second_week(),
        "sample used at 2x": outcome.share_used(),
    }


def _shipped(name: str) -> Callable[[Outcome], Figures]:
    return lambda outcome: {name: outcome.ever(SHIP, by_plan=True)}


def _guarded(case: DecisionCase, *, primary: float, harm: float) -> Sequence[float]:
    """Return lifts in planned effects: of the primary goal, and of the first guardrail beyond its margin."""
    return primary * case.planned_effect, -min((case.guardrail or 0.0) + harm * case.planned_effect, 1.0)


def _secondary_no_effect(outcome: Outcome) -> Figures:
    _, loses = outcome.secondary_calls()
    return {"false secondary harm": np.asarray(loses.any(axis=1), np.float64)}


def _secondary_harm(outcome: Outcome) -> Figures:
    wins, loses = outcome.secondary_calls()
    calls = (wins | loses).sum(axis=1)
    false = wins.sum(axis=1) + loses[:, _HARMED:].sum(axis=1)
    return {
        "secondary harm found": np.asarray(loses[:, 0], np.float64),
        "false discoveries": np.asarray(false / np.maximum(calls, 1)),
    }


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "no effect": Scenario(lifts=lambda _: (0.0,), days=lambda _: WHOLE_LIFE, figures=_no_effect),
    "planned effect": Scenario(
        lifts=lambda case: (case.planned_effect,), days=_to_the_plan, figures=_effect, needs_end=True
    ),
    "twice the planned effect": Scenario(
        lifts=lambda case: (2.0 * case.planned_effect,),
        days=_to_the_plan,
        figures=_double_effect,
        needs_end=True,
    ),
    "rise at the margin": Scenario(
        lifts=lambda case: (case.equivalence_margin,),
        days=lambda _: LAST_DAY,
        figures=lambda outcome: {"false no difference, rise": outcome.calls_equivalent()},
    ),
    "fall at the margin": Scenario(
        lifts=lambda case: (-case.equivalence_margin,),
        days=lambda _: LAST_DAY,
        figures=lambda outcome: {"false no difference, fall": outcome.calls_equivalent()},
    ),
    "guardrail at its margin": Scenario(
        lifts=lambda _: (0.0, -GUARDRAIL_MARGIN),
        days=lambda _: LAST_DAY,
        figures=lambda outcome: {
            "guardrail broken": outcome.breaks_guardrail(by_plan=True),
            "guardrail broken by day 56": outcome.breaks_guardrail(by_plan=False),
        },
        has_guardrail=True,
    ),
    "harm beyond the margin": Scenario(
        lifts=lambda case: (0.0, -min(GUARDRAIL_MARGIN + case.planned_effect, 1.0)),
        days=_to_the_plan,
        figures=lambda outcome: {"harm found": outcome.breaks_guardrail(by_plan=True)},
        has_guardrail=True,
        needs_end=True,
    ),
    "secondary goals alike": Scenario(
        lifts=lambda _: (0.0,), days=lambda _: LAST_DAY, figures=_secondary_no_effect, is_secondary=True
    ),
    "two secondary goals harmed": Scenario(
        lifts=lambda case: (0.0, *[-case.planned_effect] * _HARMED),
        days=_to_the_plan,
        figures=_secondary_harm,
        is_secondary=True,
    ),
    "a win without harm": Scenario(
        lifts=lambda case: (case.planned_effect,),
        days=_to_the_plan,
        figures=_shipped("shipped without harm"),
        needs_end=True,
        is_guarded=True,
    ),
    "a win with harm beyond the margin": Scenario(
        lifts=lambda case: _guarded(case, primary=1.0, harm=1.0),
        days=_to_the_plan,
        figures=_shipped("harm shipped"),
        needs_end=True,
        is_guarded=True,
    ),
    "a large win with harm beyond the margin": Scenario(
        lifts=lambda case: _guarded(case, primary=3.0, harm=1.0),
        days=_to_the_plan,
        figures=_shipped("harm shipped at 3x"),
        needs_end=True,
        is_guarded=True,
    ),
    "a large win at the margin": Scenario(
        lifts=lambda case: _guarded(case, primary=3.0, harm=0.0),
        days=lambda _: WHOLE_LIFE,
        figures=lambda outcome: {
            "shipped at the margin": outcome.ever(SHIP, by_plan=True),
            "shipped at the margin by day 84": outcome.ever(SHIP),
        },
        needs_end=True,
        is_guarded=True,
    ),
    "harm of twice the margin": Scenario(
        lifts=lambda _: (0.0, -2.0 * GUARDRAIL_MARGIN),
        days=lambda _: WHOLE_LIFE,
        figures=lambda outcome: {
            DAYS_UNTIL_HARM: outcome.days_until_harm(),
            EXPOSED_UNTIL_HARM: outcome.exposed_until_harm(),
        },
        has_guardrail=True,
        is_ramped=True,
    ),
    "a ramp without harm": Scenario(
        lifts=lambda _: (0.0,),
        days=lambda _: WHOLE_LIFE,
        figures=lambda outcome: {ENDED_BY_RAMP: outcome.ends_by_ramp()},
        has_guardrail=True,
        is_ramped=True,
    ),
}
