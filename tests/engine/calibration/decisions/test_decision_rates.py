"""Decisions meet their bars over whole tests, and each gate that is broken on purpose is found out."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.comparison.pairs import Pairs
from engine.analysis.decision import established
from engine.analysis.decision.rule import Situation
from engine.calibration.decisions import daily_decisions
from engine.calibration.decisions.decision_case import NEVER, DecisionCase
from engine.calibration.decisions.decision_rates import (
    BARS,
    EXPOSED,
    Bar,
    DecisionRates,
    calibrate_decisions,
)
from engine.calibration.decisions.scenarios import EXPOSED_UNTIL_HARM, SCENARIOS
from engine.calibration.decisions.standard_cases import ALL_CASES, DEFAULT_CASES
from engine.calibration.error_rates import SimulatedFigure
from engine.design.planning import required_sample
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.equivalence import Equivalence
from engine.stats.log_p_values import log_p_normal
from engine.stats.sequential import confidence_sequence_boundary
from tests.examples import mostly_in_shares, trials

SHARES = DecisionCase(rate=0.05, plan_day=10.0)
# Day-14 retention of 20% at 800 visitors a day.
RETENTION = DecisionCase(rate=0.2, plan_day=31.3, known_after=14)
GIVEN = replace(SHARES, method="group sequential", plan_day=12.0)
GUARDED = replace(SHARES, minimum_effect=0.02, guardrail=0.02)
SHOWN = replace(GUARDED, non_inferior=True)
REVENUE = replace(SHARES, orders="lognormal", minimum_effect=0.4, weights=(9.0, 1.0))
CASES = {
    "conversions": (SHARES, 2_000),
    "three variants": (replace(SHARES, rate=0.3, weights=(1.0, 1.0, 1.0)), 1_000),
    "last day": (replace(SHARES, plan_day=NEVER), 1_000),
    "few conversions": (replace(SHARES, rate=0.005, weights=(9.0, 1.0), minimum_effect=1.0), 1_000),
    "late conversions": (replace(SHARES, delay=3.0), 1_000),
    "known after two weeks": (RETENTION, 2_000),
    "given sample": (replace(SHARES, method="planned"), 1_000),
    "always valid": (replace(SHARES, method="always valid"), 1_000),
    "group sequential": (GIVEN, 2_000),
    "group sequential, complete early": (replace(GIVEN, plan_day=4.0), 1_000),
    "Bayesian": (replace(SHARES, method="Bayesian", weights=(9.0, 1.0)), 1_000),
    "one-sided": (replace(SHARES, method="one-sided"), 1_000),
    "revenue": (REVENUE, 2_400),
    "ramp": (replace(SHARES, plan_day=28.0, ramp=((0.01, 2), (0.05, 2), (0.25, 3))), 1_000),
    "secondary goals": (replace(SHARES, secondary=5), 300),
    "guardrails": (GUARDED, 1_000),
    "three guardrails": (replace(GUARDED, guardrails=3), 1_000),
    "guardrail to be shown": (replace(GUARDED, non_inferior=True), 2_000),
    "three guardrails to be shown": (replace(GUARDED, guardrails=3, non_inferior=True), 1_000),
}


@cache
def rates(name: str) -> DecisionRates:
    case, runs = CASES[name]
    return one_case(case, runs=trials(runs // 10, runs))


@cache
def sound(case: DecisionCase, runs: int, scenario: str) -> DecisionRates:
    """Simulate a case with every gate as it is, once for all that are broken in it."""
    return one_case(case, runs=runs, scenarios=(scenario,))


def one_case(
    case: DecisionCase, *, runs: int, scenarios: tuple[str, ...] = tuple(SCENARIOS)
) -> DecisionRates:
    chosen = {name: SCENARIOS[name] for name in scenarios}
    (found,) = calibrate_decisions([case], runs=runs, seed=11, scenarios=chosen)
    return found


@pytest.mark.many(seconds=5)
@pytest.mark.parametrize(
    "name",
    mostly_in_shares(
        CASES,
        *("conversions", "known after two weeks", "group sequential", "Bayesian", "revenue"),
        *("guardrail to be shown", "always valid", "secondary goals"),
        seconds=5,
    ),
)
def test_every_bar_is_met(name: str) -> None:
    found = rates(name)
    assert any(found.bar(figure) for figure in found.figures)
    assert found.missed == ()


def test_a_ramp_exposes_no_more_visitors_to_harm_than_all_traffic_at_once() -> None:
    case = replace(SHARES, plan_day=20.0, ramp=((0.05, 2), (0.25, 3)))
    found = one_case(case, runs=200, scenarios=("harm of twice the margin",))
    assert found.missed == ()
    assert found.bar(EXPOSED) is not None
    assert found.figures[EXPOSED].value == pytest.approx(
        found.figures[EXPOSED_UNTIL_HARM].value / found.figures[f"{EXPOSED_UNTIL_HARM}, at once"].value
    )


def test_a_group_sequential_test_has_the_power_that_its_larger_sample_was_planned_for() -> None:
    found = rates("group sequential")
    fixed = replace(GIVEN, method="planned")
    # The inflation factor of O'Brien-Fleming with many looks is 1.03 to 1.05: Jennison and Turnbull (2000),
    # table 2.4.
    assert 1.02 < GIVEN.planned / fixed.planned < 1.06
    power, error = found.figures["power"].value, found.figures["power"].error
    assert power > 0.79 - 2 * error
    # Two Monte-Carlo errors, and three where there are few runs.
    both = found.figures["ship"].value + found.figures["rollback"].value
    assert both < 0.05 + trials(3, 2) * np.sqrt(0.05 * 0.95 / found.runs)


def test_bars_of_one_sided_tests_allow_all_of_alpha_on_each_side() -> None:
    one, two = (
        DecisionRates(case=replace(SHARES, method=method), runs=1, figures={})
        for method in ("one-sided", "default")
    )
    for name in ("ship", "rollback", "ship by day 84", "rollback by day 84", "auto-stop"):
        limits = [bar.limit for bar in (one.bar(name), two.bar(name)) if bar is not None]
        assert limits[0] == pytest.approx(2 * limits[1])
    # The powers of two one-sided tests at margins of z.95 + z.80 and z.975 + z.80 standard errors.
    expected = 2 * stats.norm.cdf(0.8416) - 1, 2 * stats.norm.cdf(2.8016 - 1.6449) - 1
    found = [bar.limit for each in (one, two) if (bar := each.bar("no difference"))]
    assert found == pytest.approx(expected, abs=0.01)
    assert one.bar("power") == two.bar("power")


@pytest.mark.parametrize(("guardrails", "factor"), [(1, 1.339), (3, 1.656)])
def test_guardrails_to_be_shown_are_planned_with_the_factor_of_shared_power(
    guardrails: int, factor: float
) -> None:
    # Schultzberg, Ankargren and Frånberg (2024): ((1.96 + z) / 2.8016)², beta = .2 / (G + 1).
    shown = replace(GUARDED, guardrails=guardrails, non_inferior=True)
    assert shown.planned / GUARDED.planned == pytest.approx(factor, abs=1e-3)


def early_wins_beyond_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ship before the plan wherever harm is not established."""
    init = Situation.__init__

    def unheeded(self: Situation, **facts: Any) -> None:
        init(self, **{**facts, "is_beyond_margin": np.zeros_like(facts["is_beyond_margin"])})

    monkeypatch.setattr(Situation, "__init__", unheeded)


def guardrails_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every guardrail as shown to be within its margin."""
    monkeypatch.setattr(established, "_non_inferior", lambda look, *_: np.ones(look.z.shape, bool))


def level_of_guardrails_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show guardrails within their margins at a one-sided 10%."""
    monkeypatch.setattr(established, "NON_INFERIORITY_CRITICAL", 1.2816)


def always_1_96(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge every look as if it were the only one."""

    def critical(fraction: Any, _alpha: Any) -> FloatArray:
        return np.full(np.shape(fraction), 1.96)

    monkeypatch.setattr(confidence_sequence_boundary, "critical_value", critical)
    monkeypatch.setattr(
        confidence_sequence_boundary, "log_p_value", lambda z, _fraction, _alpha: log_p_normal(z)
    )


def no_first_week(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the rule of seven running days."""
    monkeypatch.setattr(required_sample, "FIRST_DAY", 0)


def plan_at_every_later_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge every look after the plan by the ordinary test."""
    monkeypatch.setattr(
        daily_decisions, "is_look_at_plan", lambda day, count: np.arange(count) >= day[:, None]
    )


def no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call everything that is not significant equal."""

    def everywhere(pairs: Pairs, _: Any) -> Equivalence:
        beyond = np.full(pairs.variant.value.shape, np.inf)
        return Equivalence(above=beyond, below=beyond)

    monkeypatch.setattr(Pairs, "equivalence", everywhere)


def guardrails_one_sided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test guardrails at 5% on the side of harm."""
    monkeypatch.setattr(established, "GUARDRAIL_LEVEL", 0.10)


def plan_without_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan for half of the visitors."""
    right = required_sample.required_visitors
    monkeypatch.setattr(required_sample, "required_visitors", lambda **terms: right(**terms) / 2)


def visitors_as_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count visitors whose outcomes are still to come."""
    monkeypatch.setattr(daily_decisions, "information", lambda days: days.entered.sum(axis=-1))


def no_spending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge group-sequential looks at 1.96 each."""
    monkeypatch.setattr(daily_decisions, "limit_at_last", lambda *_, **__: 1.96)


# Beside another figure of the same gate, or another limit of guardrails.
IN_SHARES = pytest.mark.long(seconds=1)


@pytest.mark.parametrize(
    ("broken", "case", "scenario", "figures"),
    [
        (always_1_96, SHARES, "no effect", "ship; rollback; auto-stop"),
        pytest.param(always_1_96, SHARES, "guardrail at its margin", "guardrail broken", marks=IN_SHARES),
        (no_first_week, replace(SHARES, plan_day=4.0), "twice the planned effect", "before day 7"),
        (plan_at_every_later_look, SHARES, "no effect", "ship by day 84; rollback by day 84"),
        (no_margin, SHARES, "rise at the margin", "false no difference, rise"),
        pytest.param(no_margin, SHARES, "fall at the margin", "false no difference, fall", marks=IN_SHARES),
        pytest.param(
            guardrails_one_sided, SHARES, "guardrail at its margin", "guardrail broken", marks=IN_SHARES
        ),
        (plan_without_drift, SHARES, "planned effect", "power"),
        pytest.param(plan_without_drift, SHARES, "no effect", "no difference", marks=IN_SHARES),
        (visitors_as_the_clock, RETENTION, "planned effect", "power"),
        (no_spending, GIVEN, "no effect", "ship"),
        (early_wins_beyond_margins, GUARDED, "a large win with harm beyond the margin", "harm shipped at 3x"),
        (guardrails_not_shown, SHOWN, "a win with harm beyond the margin", "harm shipped"),
        pytest.param(
            level_of_guardrails_10,
            SHOWN,
            "a large win at the margin",
            "shipped at the margin",
            marks=IN_SHARES,
        ),
    ],
)
def test_a_gate_that_is_broken_misses_its_bar(
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[pytest.MonkeyPatch], None],
    case: DecisionCase,
    scenario: str,
    figures: str,
) -> None:
    runs = 3_000 if broken is guardrails_one_sided else 1_000
    named = {*figures.split("; ")}
    assert named.isdisjoint(sound(case, runs, scenario).missed)
    broken(monkeypatch)
    assert named <= {*one_case(case, runs=runs, scenarios=(scenario,)).missed}


def test_a_bar_may_be_exceeded_by_two_standard_errors() -> None:
    most, least = Bar(limit=0.03), Bar(limit=0.8, is_least=True)
    assert most.allows(SimulatedFigure(0.0319, 0.001))
    assert not most.allows(SimulatedFigure(0.0321, 0.001))
    assert least.allows(SimulatedFigure(0.781, 0.01))
    assert not least.allows(SimulatedFigure(0.779, 0.01))


def test_figures_without_a_meaning_have_no_bar() -> None:
    empty = DecisionRates(case=SHARES, runs=1, figures={})
    assert empty.bar("power") == BARS["power"]
    assert empty.bar("sample used") is None
    never = replace(empty, case=replace(SHARES, plan_day=NEVER))
    assert never.bar("no difference") is None
    few = replace(empty, case=CASES["few conversions"][0])
    assert few.bar("auto-stop at 2x") is None
    # Half of alpha is spent by the group-sequential boundary.
    assert replace(empty, case=GIVEN).bar("auto-stop") == BARS["ship"]


def test_the_same_seed_gives_the_same_figures_whatever_comes_before() -> None:
    both = list(
        calibrate_decisions(
            [replace(SHARES, rate=0.3), SHARES],
            runs=200,
            seed=11,
            scenarios={"no effect": SCENARIOS["no effect"]},
        )
    )
    assert both[1].figures == one_case(SHARES, runs=200, scenarios=("no effect",)).figures


def test_all_cases_have_every_metric_split_plan_and_method() -> None:
    assert set(DEFAULT_CASES) <= {*ALL_CASES, *DEFAULT_CASES}
    assert len(set(ALL_CASES)) == len(ALL_CASES)
    for of, expected in (
        (lambda case: case.rate, {0.005, 0.05, 0.3}),
        (lambda case: case.orders, {None, "lognormal"}),
        (lambda case: len(case.weights), {2, 3, 5}),
        (lambda case: case.plan_day, {7.0, 10.0, 28.0, 45.0, NEVER}),
        (
            lambda case: case.method,
            {"default", "planned", "always valid", "group sequential", "one-sided", "Bayesian"},
        ),
    ):
        assert {of(case) for case in ALL_CASES if not case.known_after} == expected
