"""Error rates and power of decisions over whole tests, and the bars that they must meet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS
from engine.calibration.decisions.daily_decisions import decide_daily
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.measured_days import simulate_measure
from engine.calibration.decisions.scenarios import (
    ENDED_BY_RAMP,
    EXPOSED_UNTIL_HARM,
    GUARDRAIL_MARGIN,
    SCENARIOS,
    Figures,
    Outcome,
    Scenario,
)
from engine.calibration.decisions.simulated_days import simulate_days
from engine.calibration.error_rates import SimulatedFigure
from engine.stats.arrays import FloatArray

# Standard errors of the simulation by which a figure may exceed its bar.
_TOLERANCE: Final = 2.0
# Runs times days times goals times variants in memory at a time.
_CELLS: Final = 100_000
# A ramp that guards as others do, and lets in all visitors at once.
_AT_ONCE: Final = ((1.0, 1),)
# Visitors that a ramp exposes to harm of twice the margin, over those of all traffic at once.
EXPOSED: Final = "exposed to harm by a ramp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Limit of a figure, as a share: the most it may be, or the least."""

    limit: float
    is_least: bool = False

    def allows(self, figure: SimulatedFigure) -> bool:
        """Check a figure, give or take two standard errors of the simulation."""
        beyond = self.limit - figure.value if self.is_least else figure.value - self.limit
        return beyond <= _TOLERANCE * figure.error


BARS: Final[Mapping[str, Bar]] = {
    "ship": Bar(limit=0.030),
    "rollback": Bar(limit=0.030),
    "ship by day 84": Bar(limit=0.034),
    "rollback by day 84": Bar(limit=0.034),
    "auto-stop": Bar(limit=0.012),
    "no difference": Bar(limit=0.75, is_least=True),
    "power": Bar(limit=0.79, is_least=True),
    "auto-stop at 2x": Bar(limit=0.95, is_least=True),
    "before day 7": Bar(limit=0.0),
    "false no difference, rise": Bar(limit=0.055),
    "false no difference, fall": Bar(limit=0.055),
    "guardrail broken": Bar(limit=0.032),
    "harm found": Bar(limit=0.80, is_least=True),
    "false secondary harm": Bar(limit=0.032),
    "false discoveries": Bar(limit=0.055),
    "shipped without harm": Bar(limit=0.79, is_least=True),
    "harm shipped": Bar(limit=0.002),
    "harm shipped at 3x": Bar(limit=0.002),
    "shipped at the margin": Bar(limit=0.055),
    "shipped at the margin by day 84": Bar(limit=0.055),
    EXPOSED: Bar(limit=1.10),
    ENDED_BY_RAMP: Bar(limit=0.030),
}
# Of guardrails that need not be shown within their margins, by their number: what no early win ships.
_NOT_HARMED: Final[Mapping[tuple[str, int], Bar]] = {
    ("harm shipped", 1): Bar(limit=0.17),
    ("harm shipped", 3): Bar(limit=0.28),
    ("harm shipped at 3x", 1): Bar(limit=0.26),
    ("harm shipped at 3x", 3): Bar(limit=0.37),
    ("shipped without harm", 1): BARS["shipped without harm"],
    ("shipped without harm", 3): BARS["shipped without harm"],
}
# One-sided, 5% are allowed on each side instead of 2.5%. The smaller sample finds "no difference" less often:
# in 2 Φ(z.80) - 1 of tests by the plan, and that of a two-sided test in 2 Φ(z.975 + z.80 - z.95) - 1.
ONE_SIDED_BARS: Final[Mapping[str, Bar]] = {
    **{
        name: Bar(limit=2.0 * BARS[name].limit)
        for name in ("ship", "rollback", "ship by day 84", "rollback by day 84", "auto-stop")
    },
    "no difference": Bar(limit=0.60, is_least=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRates:
    """Figures of one case, as shares or means, by name."""

    case: DecisionCase
    runs: int
    figures: Mapping[str, SimulatedFigure]

    def bar(self, name: str) -> Bar | None:
        """Return the bar of a figure in this case; None where it has none."""
        case = self.case
        if case.guardrail is not None and not case.non_inferior:
            return _NOT_HARMED.get((name, case.guardrails))
        if name == "no difference" and not case.has_end:
            # The last day comes before the sample that the margin needs.
            return None
        if name == "auto-stop" and case.method == "group sequential":
            # Its boundary spends half of alpha on each side by the plan, as a single look does.
            return BARS["ship"]
        smallest = case.planned * float(case.shares.min()) * case.rate
        if name == "auto-stop at 2x" and smallest < FEWEST_CONVERSIONS:
            # Too few conversions for the confidence sequence: such a test is judged at its plan.
            return None
        own = ONE_SIDED_BARS if case.method == "one-sided" else {}
        return own.get(name, BARS.get(name))

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the figures that miss their bars."""
        checked = ((name, self.bar(name), figure) for name, figure in self.figures.items())
        return tuple(name for name, bar, figure in checked if bar is not None and not bar.allows(figure))


def calibrate_decisions(
    cases: Sequence[DecisionCase],
    *,
    runs: int,
    seed: int,
    scenarios: Mapping[str, Scenario] = SCENARIOS,
) -> Iterator[DecisionRates]:
    """Simulate each case `runs` times in every scenario, case by case; costly ones less often.

    The last variant has the lift, the others equal the control. The same seed gives the same rates.
    """
    for case in cases:
        count = runs // case.costs
        figures: dict[str, SimulatedFigure] = {}
        for index, scenario in enumerate(scenarios.values()):
            if scenario.applies_to(case):
                # One generator a scenario, so that other cases and scenarios change nothing in it.
                rng = np.random.default_rng([seed, index])
                found = simulate_scenario(case, scenario, runs=count, rng=rng)
                figures |= found
                if EXPOSED_UNTIL_HARM in found:
                    rng = np.random.default_rng([seed, index])
                    at_once = simulate_scenario(replace(case, ramp=_AT_ONCE), scenario, runs=count, rng=rng)
                    figures |= {f"{name}, at once": figure for name, figure in at_once.items()}
                    figures[EXPOSED] = _ratio(found[EXPOSED_UNTIL_HARM], at_once[EXPOSED_UNTIL_HARM])
        yield DecisionRates(case=case, runs=count, figures=figures)


def simulate_scenario(
    case: DecisionCase, scenario: Scenario, *, runs: int, rng: np.random.Generator
) -> dict[str, SimulatedFigure]:
    """Simulate one scenario, some runs at a time, and average its figures."""
    if scenario.has_guardrail:
        case = replace(case, guardrail=GUARDRAIL_MARGIN)
    lifts = np.zeros((case.goals, len(case.weights)))
    of_last = scenario.lifts(case)
    lifts[: len(of_last), -1] = of_last
    days = scenario.days(case)
    simulate = simulate_days if case.values is None else simulate_measure
    at_a_time = max(_CELLS // (days * lifts.size), 20)
    parts: list[Figures] = []
    for start in range(0, runs, at_a_time):
        drawn = simulate(case, lifts, days=days, runs=min(at_a_time, runs - start), rng=rng)
        parts.append(scenario.figures(Outcome(decide_daily(drawn), drawn.entered.sum(axis=-1))))
    return {name: _mean(np.concatenate([part[name] for part in parts])) for name in parts[0]}


def _ratio(first: SimulatedFigure, second: SimulatedFigure) -> SimulatedFigure:
    """Divide two independent means; the error is that of the delta method."""
    ratio = first.value / second.value
    relative = np.hypot(first.error / first.value, second.error / second.value)
    return SimulatedFigure(ratio, float(ratio * relative))


def _mean(by_run: FloatArray) -> SimulatedFigure:
    return SimulatedFigure(float(by_run.mean()), float(by_run.std() / np.sqrt(by_run.size)))
