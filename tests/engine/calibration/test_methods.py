"""The methods beyond the daily ones keep their promises, and each that is broken on purpose is found out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.calibration.amounts import AmountsCase
from engine.calibration.bandits import BanditCase
from engine.calibration.error_rates import ErrorRates, measure
from engine.calibration.guardrails import GuardrailCase
from engine.calibration.lift_priors import LiftPriorCase
from engine.calibration.measures import MeasureCase
from engine.calibration.method import FAMILY, Sample
from engine.calibration.methods import DAILY, METHODS
from engine.calibration.returning_visitors import ReturningVisitorsCase
from engine.calibration.sample_ratio import SampleRatioCase
from engine.calibration.segments import SegmentsCase
from engine.calibration.several_covariates import CovariatesCase
from engine.calibration.trials import Setting
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.priors import pre_period_prior
from engine.stats.estimates import Estimate
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.sequential.sample_ratio import SplitCheck
from tests.examples import mostly_in_shares

RUNS = 500
SHOP = ReturningVisitorsCase(rate=2.0, visitors=300)
AMOUNTS = AmountsCase(rate=0.3, visitors=1_000, orders="lognormal")
UNEVEN = AmountsCase(rate=0.1, visitors=1_800, orders="lognormal", uneven=9)
DRAWN = LiftPriorCase(rate=0.1, visitors=2_000, deviation=0.15, drawn=True)
FIXED = LiftPriorCase(rate=0.1, visitors=2_000, deviation=0.15, drawn=False)
BANDIT = BanditCase(rate=0.1, visitors=2_000)
NO_HARM = GuardrailCase(rate=0.1, visitors=4_000, margin=0.2, harms=False)
HARM = GuardrailCase(rate=0.1, visitors=4_000, margin=0.2, harms=True)
ALIKE = SegmentsCase(rate=0.1, visitors=600)
MIXED = SegmentsCase(rate=0.1, visitors=600, affected=5)
SPLIT = SampleRatioCase(visitors=2_800)
FOUR_ARMS = Setting(rate=0.2, visitors=1_400, arms=4)
COUNTS = MeasureCase(measure="count", rate=1.5, visitors=500)
RATIOS = MeasureCase(measure="ratio", rate=2.0, visitors=400)
COVARIATES = CovariatesCase(rate=50.0, visitors=60)
CASES: tuple[Any, ...] = (
    SHOP,
    AMOUNTS,
    UNEVEN,
    DRAWN,
    FIXED,
    BANDIT,
    NO_HARM,
    HARM,
    ALIKE,
    MIXED,
    SPLIT,
    COUNTS,
    RATIOS,
    COVARIATES,
)


@cache
def samples(case: Any) -> tuple[Sample, Sample]:
    """Runs with nothing to find, and with something."""
    rng = np.random.default_rng(5)
    return case.draw(lift=0.0, runs=RUNS, rng=rng), case.draw(lift=case.detectable, runs=RUNS, rng=rng)


@cache
def scores() -> tuple[ErrorRates, ...]:
    methods = [method for method in METHODS if method not in DAILY]
    return tuple(
        measure(case, method, *samples(case))
        for case in CASES
        for method in methods
        if method.applies_to(case)
    )


def rates_of(name: str, case: Any) -> ErrorRates:
    return next(each for each in scores() if (each.method.name, each.setting) == (name, case))


def measured_now(name: str, case: Any) -> ErrorRates:
    (method,) = (method for method in METHODS if method.name == name and method.applies_to(case))
    return measure(case, method, *samples(case))


def less_spread(found: Any) -> Any:
    """Whatever an estimate came as, with half of its variance."""
    if isinstance(found, Estimate):
        return replace(found, variance=found.variance / 2)
    if isinstance(found, Moments):
        return replace(found, m2=found.m2 / 2)
    if isinstance(found, ValueCounts):
        return replace(found, counts=found.counts * 2)
    if isinstance(found, PairedMoments):
        return replace(found, m2_x=found.m2_x / 2, m2_y=found.m2_y / 2, co=found.co / 2)
    parts = {
        part: less_spread(getattr(found, part))
        for part in ("moments", "ratios", "control", "variant")
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


def without_skewness(test: Callable[..., Any]) -> Callable[..., Any]:
    """Plain Welch, whatever the skewness."""
    return lambda control, variant, alpha, _: test(control, variant, alpha)


def as_if_every_visitor_counted(conversions: float, visitors: float) -> tuple[float, float]:
    return pre_period_prior(conversions, visitors, worth=visitors)


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
    Broken("Welch, per visitor", SHOP, "returning_visitors", "metric_moments", too_sure),
    Broken("CUPED, per visitor", SHOP, "returning_visitors", "adjusted_metrics", too_sure),
    Broken("Welch, per order", SHOP, "method", "RatioArms", with_too_sure_arms),
    Broken("CUPED, per order", SHOP, "returning_visitors", "adjusted_metrics", too_sure),
    Broken("Welch, uncapped", AMOUNTS, "method", "compare_means", with_too_sure_arms),
    Broken("Welch, uncapped", UNEVEN, "method", "compare_means", without_skewness),
    Broken("Welch, capped at 99%", UNEVEN, "method", "compare_means", without_skewness),
    Broken("Welch, capped at 99%", AMOUNTS, "amounts", "winsorize", too_sure),
    Broken("median order", AMOUNTS, "amounts", "compare_quantiles", with_too_sure_arms),
    Broken("90% quantile order", AMOUNTS, "amounts", "compare_quantiles", with_too_sure_arms),
    Broken("prior on the lift", DRAWN, "lift_priors", "update_lift", with_too_sure_arms),
    Broken(
        "pre-period prior", FIXED, "lift_priors", "pre_period_prior", lambda _: as_if_every_visitor_counted
    ),
    Broken("always valid", SPLIT, "sample_ratio", "check_split", lambda _: sample_ratio_of_one_look),
    Broken("stratified by epoch", BANDIT, "bandits", "stratify", too_sure),
    Broken("non-inferiority", NO_HARM, "guardrails", "relative_z", with_too_sure_arms),
    Broken("guardrail broken", HARM, "guardrails", "relative_z", with_too_sure_arms),
    Broken("Welch, measures", COUNTS, "measures", "metric_moments", too_sure),
    Broken("Welch, no covariates", COVARIATES, "method", "compare_means", with_too_sure_arms),
    Broken("CUPED, several", COVARIATES, "several_covariates", "adjust", too_sure),
    Broken("Welch, measures", RATIOS, "method", "RatioArms", with_too_sure_arms),
    Broken("segment effects", ALIKE, "segments", "log_odds_ratios", too_sure),
    Broken("segment effects", ALIKE, "segments", "benjamini_hochberg", lambda _: as_if_alone),
    Broken("segment effects", MIXED, "segments", "log_odds_ratios", too_sure),
    Broken("segment vs the rest", ALIKE, "segments", "log_odds_ratios", too_sure),
)


def test_all_but_the_warnings_keep_their_promises() -> None:
    assert {each.setting for each in scores()} == set(CASES)
    for each in scores():
        assert each.keeps_promise == each.method.is_safe, (each.setting.name, each.method.name)


def test_every_method_beyond_the_daily_ones_is_broken_once() -> None:
    tried = {broken.method for broken in BROKEN}
    assert {method.name for method in METHODS if method.is_safe and method not in DAILY} <= tried


# One of each module in every run.
OF_MODULES = {broken.module: broken for broken in BROKEN}.values()


@pytest.mark.parametrize(
    "broken",
    mostly_in_shares(BROKEN, *OF_MODULES, seconds=0.3),
    ids=lambda broken: f"{broken.method}-{broken.case.name}",
)
def test_a_method_that_is_broken_on_purpose_is_found_out(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"engine.calibration.{broken.module}")
    monkeypatch.setattr(module, broken.name, broken.how(getattr(module, broken.name)))
    assert not measured_now(broken.method, broken.case).keeps_promise


def test_one_that_nobody_touched_is_not() -> None:
    assert measured_now("Holm", FOUR_ARMS).keeps_promise
    assert measured_now("Dunnett", FOUR_ARMS).keeps_promise


def test_what_was_done_before_adds_power() -> None:
    for unit in ("visitor", "order"):
        assert (
            rates_of(f"CUPED, per {unit}", SHOP).power.value
            > rates_of(f"Welch, per {unit}", SHOP).power.value
        )
    gain = rates_of("CUPED, per visitor", SHOP).power.value - rates_of("Welch, per visitor", SHOP).power.value
    assert gain > 0.08


def test_a_cap_adds_power_where_tails_are_heavy() -> None:
    assert (
        rates_of("Welch, capped at 99%", AMOUNTS).power.value
        > rates_of("Welch, uncapped", AMOUNTS).power.value
    )


def test_a_prior_is_unbiased_over_its_lifts_and_shrinks_any_one_of_them() -> None:
    drawn, fixed = (rates_of("prior on the lift", case).bias for case in (DRAWN, FIXED))
    assert abs(drawn.value) < 4 * drawn.error
    assert fixed.value < -4 * fixed.error


def test_all_but_the_prior_and_the_pooled_bandit_are_unbiased() -> None:
    unbiased = [
        each
        for each in scores()
        if each.setting not in {UNEVEN, ALIKE, MIXED, SPLIT}
        and each.method.name != "prior on the lift"
        and each.method.is_safe
    ]
    assert len(unbiased) > 10
    for each in unbiased:
        assert abs(each.bias.value) < 4 * each.bias.error, (each.setting.name, each.method.name)


def test_guardrails_are_judged_with_the_power_that_the_margin_gives() -> None:
    # z of the margin: 0.2 · 0.1 / sqrt(0.09 / 4000 (1 + 0.8²)) = 3.3 at about the null, so power is over 85%.
    assert rates_of("non-inferiority", NO_HARM).power.value > 0.8
    assert rates_of("guardrail broken", HARM).power.value > 0.8
