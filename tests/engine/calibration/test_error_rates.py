"""Every method keeps its promised error rates, and a method that does not is detected."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from engine.calibration.error_rates import ErrorRates, calibrate, measure
from engine.calibration.method import Method, MethodOutcome
from engine.calibration.methods import DAILY
from engine.calibration.trials import Setting, Trials
from engine.stats.arrays import FloatArray

RUNS = 500
SETTINGS = (
    Setting(rate=0.01, visitors=2_800),
    Setting(rate=0.2, visitors=2_800, arms=3),
    Setting(rate=0.1, visitors=2_800, orders="lognormal"),
)
SAFE = [method.name for method in DAILY if method.is_safe]


@cache
def scores() -> tuple[ErrorRates, ...]:
    return tuple(score for each in calibrate(SETTINGS, DAILY, runs=RUNS, seed=3) for score in each)


def scores_of(name: str) -> list[ErrorRates]:
    """The error rates of a method in every setting that it applies to: at least one."""
    found = [score for score in scores() if score.method.name == name]
    assert found
    return found


def scored(method: Method) -> ErrorRates:
    ((score,),) = calibrate(SETTINGS[1:2], (method,), runs=RUNS, seed=3)
    return score


@pytest.mark.parametrize("name", SAFE)
def test_no_more_false_positives_than_promised(name: str) -> None:
    assert all(score.keeps_error_rate for score in scores_of(name))


@pytest.mark.parametrize("name", SAFE)
def test_intervals_hold_the_truth_as_often_as_promised(name: str) -> None:
    assert all(score.keeps_coverage for score in scores_of(name))


def test_sets_of_intervals_hold_all_truths_at_once_where_that_is_promised() -> None:
    (several,) = (setting for setting in SETTINGS if setting.arms > 2)
    found = {score.method.name: score for score in scores() if score.setting == several}
    assert found["Dunnett"].method.promised_coverage(2) == 0.95
    assert found["Holm"].method.promised_coverage(2) is None
    for name in ("Dunnett", "Holm"):
        coverage = found[name].coverage
        assert coverage is not None
        assert coverage.value == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("name", ["score test or Fisher", "Welch", "Holm", "Dunnett"])
def test_a_single_look_has_the_power_it_was_planned_for(name: str) -> None:
    assert [score.power.value for score in scores_of(name)] == [
        pytest.approx(0.8, abs=0.08) for _ in scores_of(name)
    ]


def test_looking_daily_costs_power_and_the_boundaries_cost_less_than_the_sequence() -> None:
    assert SETTINGS[1:]
    for setting in SETTINGS[1:]:
        power = {score.method.name: score.power.value for score in scores() if score.setting == setting}
        once = power["Welch" if setting.orders else "score test or Fisher"]
        assert 0.2 < power["always valid"] < power["group sequential"] < once + 0.03


def test_single_looks_are_unbiased_and_early_stops_exaggerate() -> None:
    single = scores_of("score test or Fisher") + scores_of("Welch")
    assert all(abs(score.bias.value) < 4 * score.bias.error for score in single)
    assert all(score.bias.value > 4 * score.bias.error for score in scores_of("naive peeking"))


def test_unprotected_peeking_errs_four_times_as_often_as_it_says() -> None:
    # Armitage, McPherson and Rowe (1969), JRSS A 132: 25 looks at 5% err 26.6% of the time.
    peeking = scores_of("naive peeking")
    assert not any(score.keeps_promise for score in peeking)
    assert min(score.false_positives.value for score in peeking) > 0.18


def test_a_test_that_takes_one_sided_p_for_two_sided_is_found_out() -> None:
    def one_sided(trials: Trials) -> MethodOutcome:
        end = trials.at_the_end()
        control, variant = end.estimates
        z = variant.minus(control).z
        verdict = np.where(np.abs(z) > 1.6449, np.sign(z), 0).astype(np.int64)
        nothing = np.full(z.shape, np.nan)
        return MethodOutcome(verdict, nothing, nothing, end.observed_lift)

    assert not scored(Method(name="one-sided", run=one_sided)).keeps_promise


def test_the_same_seed_gives_the_same_scores_whatever_comes_before() -> None:
    def figures(seed: int) -> list[float]:
        found = calibrate(SETTINGS[:1], DAILY[:1], runs=100, seed=seed)
        return [score.false_positives.value + score.bias.value for each in found for score in each]

    assert figures(3) == figures(3) != figures(4)


def test_of_what_is_called_the_share_that_is_nothing_is_false() -> None:
    @dataclass
    class Fixed:
        lift: float
        lifts: FloatArray

    def read(_: object) -> MethodOutcome:
        # Of three comparisons the first run calls two, of which one is nothing; the second run calls none.
        verdict = np.array([[[1, 1, 0]], [[0, 0, 0]]])
        nothing = np.full(verdict.shape, np.nan)
        return MethodOutcome(verdict, nothing, nothing, np.zeros(verdict.shape))

    sample = Fixed(0.2, np.array([0.2, 0.0, -0.2]))
    found = measure(SETTINGS[0], Method(name="calls two", run=read), sample, sample)
    assert found.false_positives.value == 0.25
    # Of the two that are there the first run finds one.
    assert found.power.value == 0.25
    assert found.coverage is None
    # What is seen is 0: 0.2 too little of one, and too much of the other.
    assert found.bias.value == 0.0


def test_a_method_that_covers_too_little_breaks_its_promise() -> None:
    def narrow(trials: Trials) -> MethodOutcome:
        (once,) = (method for method in DAILY if method.name == "score test or Fisher")
        full = once.run(trials)
        middle = (full.low + full.high) / 2
        return MethodOutcome(
            full.verdict, (full.low + middle) / 2, (full.high + middle) / 2, full.observed_lift
        )

    found = scored(Method(name="half as wide", run=narrow))
    assert found.keeps_error_rate
    assert not found.keeps_coverage
    assert not found.keeps_promise
