"""The methods beyond the daily ones keep their promises, and each that is broken on purpose is found out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.calibration.amounts import Amounts
from engine.calibration.bandits import Bandit
from engine.calibration.error_rates import Score, score
from engine.calibration.guardrails import Guardrail
from engine.calibration.lift_priors import LiftPriorCase
from engine.calibration.method import FAMILY, Sample
from engine.calibration.methods import DAILY, METHODS
from engine.calibration.returning_visitors import Shop
from engine.calibration.sample_ratio import Split
from engine.calibration.segments import Segments
from engine.calibration.trials import Setting
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.priors import prior_of_past
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.sequential.sample_ratio import SplitCheck

RUNS = 500
SHOP = Shop(rate=2.0, visitors=300)
AMOUNTS = Amounts(rate=0.3, visitors=1_000, orders="lognormal")
UNEVEN = Amounts(rate=0.1, visitors=1_800, orders="lognormal", uneven=9)
DRAWN = LiftPriorCase(rate=0.1, visitors=2_000, deviation=0.15, drawn=True)
FIXED = LiftPriorCase(rate=0.1, visitors=2_000, deviation=0.15, drawn=False)
BANDIT = Bandit(rate=0.1, visitors=2_000)
NO_HARM = Guardrail(rate=0.1, visitors=4_000, margin=0.2, harms=False)
HARM = Guardrail(rate=0.1, visitors=4_000, margin=0.2, harms=True)
ALIKE = Segments(rate=0.1, visitors=600)
MIXED = Segments(rate=0.1, visitors=600, affected=5)
SPLIT = Split(visitors=2_800)
FOUR_ARMS = Setting(rate=0.2, visitors=1_400, arms=4)
CASES: tuple[Any, ...] = (SHOP, AMOUNTS, UNEVEN, DRAWN, FIXED, BANDIT, NO_HARM, HARM, ALIKE, MIXED, SPLIT)


@cache
def samples(case: Any) -> tuple[Sample, Sample]:
    """Runs with nothing to find, and with something."""
    rng = np.random.default_rng(5)
    return case.draw(lift=0.0, runs=RUNS, rng=rng), case.draw(lift=case.detectable, runs=RUNS, rng=rng)


@cache
def scores() -> tuple[Score, ...]:
    methods = [method for method in METHODS if method not in DAILY]
    return tuple(
        score(case, method, *samples(case)) for case in CASES for method in methods if method.fits(case)
    )


def score_of(name: str, case: Any) -> Score:
    return next(each for each in scores() if (each.method.name, each.setting) == (name, case))


def scored_now(name: str, case: Any) -> Score:
    (method,) = (method for method in METHODS if method.name == name and method.fits(case))
    return score(case, method, *samples(case))


def less_spread(found: Any) -> Any:
    """Whatever an estimate came as, with half of its variance."""
    if isinstance(found, Estimate):
        return replace(found, variance=found.variance / 2)
    if isinstance(found, Moments):
        return replace(found, m2=found.m2 / 2)
    parts = {
        part: less_spread(getattr(found, part))
        for part in ("moments", "control", "variant")
        if hasattr(found, part)
    }
    return replace(found, **parts)


def too_sure(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: less_spread(function(*args, **kwargs))


def with_too_sure_arms(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda control, variant, *args, **kwargs: function(
        less_spread(control), less_spread(variant), *args, **kwargs
    )


def as_if_alone(log_p: FloatArray, *_: object) -> FloatArray:
    return log_p


def dunnett_as_if_alone(log_p: FloatArray, *_: object) -> tuple[FloatArray, FloatArray]:
    return log_p, np.full(log_p.shape, FAMILY)


def as_if_every_visitor_counted(conversions: float, visitors: float) -> tuple[float, float]:
    return prior_of_past(conversions, visitors, worth=visitors)


def sample_ratio_of_one_look(visitors: FloatArray, _: object) -> SplitCheck:
    """The ordinary chi-square, looked at every day."""
    p = stats.chisquare(visitors, axis=-1).pvalue
    return SplitCheck(np.log(p), np.zeros(p.shape, bool))


@dataclass(frozen=True)
class Broken:
    """What is replaced in a module of the calibration, and by what made of it."""

    method: str
    case: Any
    module: str
    name: str
    how: Callable[[Any], Any]


BROKEN = (
    Broken("Holm", FOUR_ARMS, "methods", "holm", lambda _: as_if_alone),
    Broken("Dunnett", FOUR_ARMS, "methods", "adjust_dunnett", lambda _: dunnett_as_if_alone),
    Broken("Welch, per visitor", SHOP, "shop", "metric_moments", too_sure),
    Broken("CUPED, per visitor", SHOP, "shop", "adjusted_metrics", too_sure),
    Broken("Welch, per order", SHOP, "shop", "metric_moments", too_sure),
    Broken("CUPED, per order", SHOP, "shop", "adjusted_metrics", too_sure),
    Broken("Welch, uncut", AMOUNTS, "reading", "compare_means", with_too_sure_arms),
    Broken("Welch, capped at 99%", AMOUNTS, "amounts", "winsorize", too_sure),
    Broken("median order", AMOUNTS, "amounts", "estimate_quantiles", too_sure),
    Broken("90% quantile order", AMOUNTS, "amounts", "estimate_quantiles", too_sure),
    Broken("prior on the lift", DRAWN, "beliefs", "update_lift", with_too_sure_arms),
    Broken("prior of past rates", FIXED, "beliefs", "prior_of_past", lambda _: as_if_every_visitor_counted),
    Broken("always valid", SPLIT, "splits", "check_split", lambda _: sample_ratio_of_one_look),
    Broken("within epochs", BANDIT, "bandits", "stratify", too_sure),
    Broken("non-inferiority", NO_HARM, "guardrails", "judge_guardrail", with_too_sure_arms),
    Broken("guardrail broken", HARM, "guardrails", "judge_guardrail", with_too_sure_arms),
    Broken("segment effects", ALIKE, "segments", "log_odds_ratios", too_sure),
    Broken("segment effects", ALIKE, "segments", "benjamini_hochberg", lambda _: as_if_alone),
    Broken("segment effects", MIXED, "segments", "log_odds_ratios", too_sure),
    Broken("segment differs", ALIKE, "segments", "log_odds_ratios", too_sure),
)


def test_all_but_the_warnings_keep_their_promises() -> None:
    for each in scores():
        assert each.keeps_its_promise == each.method.is_safe, (each.setting.name, each.method.name)


def test_every_method_beyond_the_daily_ones_is_broken_once() -> None:
    tried = {broken.method for broken in BROKEN}
    assert {method.name for method in METHODS if method.is_safe and method not in DAILY} <= tried


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.method}-{broken.case.name}")
def test_a_method_that_is_broken_on_purpose_is_found_out(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"engine.calibration.{broken.module}")
    monkeypatch.setattr(module, broken.name, broken.how(getattr(module, broken.name)))
    assert not scored_now(broken.method, broken.case).keeps_its_promise


def test_one_that_nobody_touched_is_not() -> None:
    assert scored_now("Holm", FOUR_ARMS).keeps_its_promise
    assert scored_now("Dunnett", FOUR_ARMS).keeps_its_promise


def test_what_was_done_before_adds_power() -> None:
    for unit in ("visitor", "order"):
        assert (
            score_of(f"CUPED, per {unit}", SHOP).power.value
            > score_of(f"Welch, per {unit}", SHOP).power.value
        )
    gain = score_of("CUPED, per visitor", SHOP).power.value - score_of("Welch, per visitor", SHOP).power.value
    assert gain > 0.08


def test_a_cap_adds_power_where_tails_are_heavy() -> None:
    assert (
        score_of("Welch, capped at 99%", AMOUNTS).power.value > score_of("Welch, uncut", AMOUNTS).power.value
    )


def test_a_prior_is_unbiased_over_its_lifts_and_shrinks_any_one_of_them() -> None:
    drawn, fixed = (score_of("prior on the lift", case).bias for case in (DRAWN, FIXED))
    assert abs(drawn.value) < 4 * drawn.error
    assert fixed.value < -4 * fixed.error


def test_all_but_the_prior_and_the_pooled_bandit_are_unbiased() -> None:
    for each in scores():
        if (
            each.setting not in {UNEVEN, ALIKE, MIXED, SPLIT}
            and each.method.name != "prior on the lift"
            and each.method.is_safe
        ):
            assert abs(each.bias.value) < 4 * each.bias.error, (each.setting.name, each.method.name)


def test_guardrails_are_judged_with_the_power_that_the_margin_gives() -> None:
    # z of the margin: 0.2 · 0.1 / sqrt(0.09 / 4000 (1 + 0.8²)) = 3.3 at about the null, so power is over 85%.
    assert score_of("non-inferiority", NO_HARM).power.value > 0.8
    assert score_of("guardrail broken", HARM).power.value > 0.8
