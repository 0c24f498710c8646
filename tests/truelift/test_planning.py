"""Sample sizes by plain arguments are those of the calculator behind the API."""

import warnings

import pytest

import truelift
from engine.design.planning.calculator import SampleQuestion, answer


def test_sample_size_answers_as_the_api_does() -> None:
    found = truelift.sample_size(baseline_rate=5, effect=10, daily_visitors=2000)
    assert found == answer(SampleQuestion(baseline_rate=5, effect=10, daily_visitors=2000))


def test_visitors_for_an_effect_have_a_published_value() -> None:
    # Fleiss, Levin and Paik (2003), table A.4 without continuity correction: 25% against 40%, 5%, 80%.
    assert truelift.sample_size(baseline_rate=25, effect=60).visitors_per_variant == 152


def test_visitors_of_an_effect_detect_that_effect() -> None:
    visitors = truelift.sample_size(baseline_rate=4, effect=10).visitors_per_variant
    found = truelift.sample_size(baseline_rate=4, visitors_per_variant=visitors).detectable_effect
    assert found == pytest.approx(10, rel=1e-3)


def test_daily_looks_cost_visitors() -> None:
    once, daily = (
        truelift.sample_size(baseline_rate=4, effect=10, method=method).visitors_total
        for method in ("fixed", "always_valid")
    )
    assert once is not None
    assert daily is not None
    assert daily > 1.2 * once


def test_every_problem_of_the_arguments_is_named() -> None:
    with pytest.raises(truelift.InvalidDesignError, match=r"baseline_rate: .*; effect: "):
        truelift.sample_size(baseline_rate=200, effect=-100)


def test_shares_in_the_place_of_percents_are_answered_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"percents: .*for shares give baseline_rate=10, effect=20$"):
        found = truelift.sample_size(baseline_rate=0.1, effect=0.2)
    assert found == answer(SampleQuestion(baseline_rate=0.1, effect=0.2))


@pytest.mark.parametrize("question", [{"effect": 10}, {"visitors_per_variant": 50_000}, {"effect": -5}])
def test_a_rate_below_one_percent_is_usual(question: dict[str, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        truelift.sample_size(baseline_rate=0.5, **question)  # type: ignore[arg-type]  # by name
