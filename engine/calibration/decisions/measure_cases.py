"""Cases and scenarios of measures: whole tests with a look on each of 56 mornings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from engine.calibration.decisions.daily_decisions import NO_DIFFERENCE, ROLLBACK, SHIP
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.scenarios import SCENARIOS, Figures, Outcome, Scenario
from engine.calibration.measure_errors.measure_cells import SHAPES, QuantileShape, ValueShape
from engine.calibration.measure_errors.quantile_values import quantiles_of_lognormal
from engine.design.planning.plan_days import LAST_DAY

_UNEVEN: Final = (9.0, 1.0)


def _shape(measure: str, name: str) -> ValueShape:
    (found,) = (shape for shape in SHAPES if (shape.measure, shape.name) == (measure, name))
    return found


_CLICKS: Final = DecisionCase(rate=0.5, plan_day=28.0, values=_shape("ratio", "clicks per view"))
_COUNT: Final = DecisionCase(rate=0.55, plan_day=28.0, values=_shape("count", "negative binomial, mean 1.5"))
_CUPED: Final = DecisionCase(
    rate=0.2, plan_day=28.0, values=_shape("revenue, CUPED", "returning visitors"), minimum_effect=0.2
)
_PER_ORDER: Final = DecisionCase(
    rate=0.1, plan_day=28.0, values=_shape("revenue per order", "10% buy, lognormal 1"), minimum_effect=0.2
)
_MEDIAN: Final = DecisionCase(
    rate=1.0,
    plan_day=28.0,
    values=QuantileShape(name="lognormal 1", quantiles=quantiles_of_lognormal(1.0, 1.0), shares=(0.5,)),
    minimum_effect=0.2,
)
# Day-14 retention of 20% at 800 visitors a day, and that of day 7 at 1,600.
_RETENTION: Final = DecisionCase(rate=0.2, plan_day=31.3, known_after=14)
# Margins as wide as an effect so small that the variances of both hardly differ.
_GUARDED: Final = DecisionCase(rate=0.05, plan_day=28.0, minimum_effect=0.02, guardrail=0.02)

MEASURE_CASES: Final[tuple[DecisionCase, ...]] = (
    _RETENTION,
    replace(_RETENTION, plan_day=15.7, known_after=7),
    *(
        replace(case, weights=weights)
        for case in (_COUNT, _CLICKS, _PER_ORDER, _CUPED)
        for weights in ((1.0, 1.0), _UNEVEN)
    ),
    _GUARDED,
    replace(_GUARDED, guardrails=3),
    replace(_GUARDED, non_inferior=True),
    replace(_CLICKS, guardrail=0.1),
    _MEDIAN,
)


def _of_no_effect(outcome: Outcome) -> Figures:
    return {
        "ship": outcome.ever(SHIP),
        "rollback": outcome.ever(ROLLBACK),
        "no difference": outcome.ever(NO_DIFFERENCE, by_plan=True),
    }


def _on_any_morning(scenario: str, figure: str) -> Scenario:
    return replace(
        SCENARIOS[scenario], days=lambda _: LAST_DAY, figures=lambda outcome: {figure: outcome.ever(SHIP)}
    )


MORNINGS: Final[Mapping[str, Scenario]] = {
    "no effect": replace(SCENARIOS["no effect"], days=lambda _: LAST_DAY, figures=_of_no_effect),
    "planned effect": SCENARIOS["planned effect"],
    "a win without harm": SCENARIOS["a win without harm"],
    "a win with harm beyond the margin": _on_any_morning("a win with harm beyond the margin", "harm shipped"),
    "a large win with harm beyond the margin": _on_any_morning(
        "a large win with harm beyond the margin", "harm shipped at 3x"
    ),
}
