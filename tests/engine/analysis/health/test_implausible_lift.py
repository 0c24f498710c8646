"""Lifts that are too large to be real, and large ones that chance or a good idea explains."""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.implausible_lift import implausible_lift
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.examples import trials
from tests.observations import check_input, observed, observed_by_epoch

TEN_THOUSAND = (10_000, 10_000)


def found(conversions: Sequence[int], visitors: Sequence[int] = TEN_THOUSAND) -> CheckResult:
    return implausible_lift(
        check_input(an_experiment(weights=(1,) * len(visitors)), observed(visitors, conversions))
    )


@pytest.mark.parametrize(
    ("conversions", "status"),
    [
        ((500, 550), "ok"),  # +10%
        ((500, 700), "ok"),  # +40%: rare, and possible
        ((500, 1000), "warning"),  # +100%
        ((500, 250), "warning"),  # -50%: half of the conversions are lost
        ((0, 100), "not_applicable"),  # of nothing there is no percentage
        ((100, 0), "warning"),
        ((3, 12), "ok"),  # few conversions: chance and a usual lift explain it
        ((0, 6), "not_applicable"),
    ],
)
def test_a_lift_is_held_against_its_error(conversions: tuple[int, int], status: str) -> None:
    assert found(conversions).status == status


def test_the_warning_names_the_variant_and_its_lift() -> None:
    check = found((500, 510, 1000), (10_000,) * 3)
    assert check.message.startswith("'Treatment 2' +99.9%: a change this large is rarely real.")
    (lift,) = check.details["variants"].values()  # type: ignore[attr-defined]  # a mapping in this check
    # log(1000.5 / 500.5) = 0.6926, its error by the delta method 0.0528.
    assert lift["lift"] == pytest.approx(0.999, abs=1e-3)
    assert lift["low"] == pytest.approx(np.exp(0.6926 - 1.96 * 0.0528) - 1, abs=2e-3)
    # The weight of the data is 0.1² / (0.1² + 0.0528²) = 0.782.
    assert lift["shrunk"] == pytest.approx(np.exp(0.6926 * 0.782) - 1, abs=2e-3)


def test_revenue_is_held_against_its_spread() -> None:
    experiment = an_experiment(goals=(a_goal(goal_type="revenue", config={}),))

    def check(deviation: float) -> str:
        n = np.full((1, 2), 5_000.0)
        cents = Moments(n, np.array([[200.0, 500.0]]), n * deviation**2)
        return implausible_lift(check_input(experiment, observed([5_000] * 2, [500] * 2, cents=cents))).status

    assert (check(900.0), check(9_000.0)) == ("warning", "ok")


def test_without_a_lift_there_is_nothing_to_check() -> None:
    assert found((0, 0), (0, 0)).status == "not_applicable"
    assert found((5,), (10,)).status == "not_applicable"
    moved = observed_by_epoch([[1, 1], [9, 1]], [[500, 500], [900, 100]], [[50, 50], [90, 90]])
    assert implausible_lift(check_input(an_experiment(weights=(9, 1)), moved)).status == "not_applicable"


@pytest.mark.many(seconds=6)
@pytest.mark.parametrize(
    ("rate", "visitors"),
    [
        (0.005, 500),
        *(pytest.param(*one, marks=pytest.mark.long(seconds=6)) for one in ((0.005, 20_000), (0.3, 100))),
    ],
)
def test_tests_with_usual_lifts_warn_at_most_once_in_a_thousand_whatever_the_day(
    rate: float, visitors: int
) -> None:
    rng = np.random.default_rng(8)
    lifts = np.exp(rng.normal(0.0, 0.1, 400))
    each = trials(3, 14)
    days = np.cumsum(
        [rng.binomial(visitors, [np.full(400, rate), rate * lifts]) for _ in range(each)], axis=0
    )
    warned = {
        run
        for day, counts in enumerate(days, start=1)
        for run, pair in enumerate(counts.T.tolist())
        if abs(np.log((pair[0] + 0.5) / (pair[1] + 0.5))) > 0.4
        and found(pair, [visitors * day] * 2).status == "warning"
    }
    # 400 at 1 in 1,000: more than 3 happen less than once in 1,000 such tests.
    assert len(warned) <= 3
