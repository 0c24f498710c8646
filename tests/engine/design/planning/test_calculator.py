"""Questions about the size of a test, and their answers."""

from typing import Any

import pytest

from engine.design.planning.calculator import SampleAnswer, answer, effect_of_clusters, read_question
from engine.errors import InvalidDesignError


def asked(**fields: Any) -> SampleAnswer:
    return answer(read_question(fields))


def refused(**fields: Any) -> set[str]:
    with pytest.raises(InvalidDesignError) as error:
        read_question(fields)
    return {problem.field for problem in error.value.problems}


def test_visitors_of_a_rate_are_those_of_the_textbook() -> None:
    # Fleiss, Levin and Paik (2003), section 4.2, as R's power.prop.test(p1 = .05, p2 = .055, power = .8).
    found = asked(baseline_rate=5, effect=10, daily_visitors=2000)
    assert (found.visitors_per_variant, found.visitors_total) == (31_234, 62_468)
    assert (found.days, found.days_in_whole_weeks) == (32, 35)
    assert found.detectable_effect == pytest.approx(10, abs=1e-3)


def test_visitors_of_a_mean_are_those_of_the_textbook() -> None:
    # (1 + 1.1²) (1.959964 + 0.841621)² / 0.1² = 1734.6: the deviation grows with the mean, by a tenth.
    assert asked(baseline_mean=100, standard_deviation=100, effect=10).visitors_per_variant == 1735


def test_a_one_sided_test_has_all_of_alpha_on_the_wanted_side() -> None:
    # (1 + 1.1²) (1.644854 + 0.841621)² / 0.1² = 1366.3: the deviation grows with the mean, by a tenth.
    found = asked(baseline_mean=100, standard_deviation=100, effect=10, alternative="one_sided")
    assert found.visitors_per_variant == 1367


def test_a_one_sided_test_needs_a_level_above_that_of_chance() -> None:
    refused_at = refused(baseline_rate=5, effect=10, confidence_level=50, alternative="one_sided")
    assert refused_at == {"alternative"}


def test_effect_of_given_visitors_is_the_inverse() -> None:
    found = asked(baseline_rate=5, visitors_per_variant=31_234)
    assert found.detectable_effect == pytest.approx(10, abs=1e-3)
    assert (found.visitors_total, found.days) == (62_468, None)


def test_freedom_to_look_costs_visitors() -> None:
    visitors = [
        asked(baseline_rate=5, effect=10, method=method).visitors_per_variant or 0
        for method in ("fixed", "group_sequential", "always_valid")
    ]
    assert visitors == sorted(visitors)
    assert len(set(visitors)) == 3


def test_outcomes_that_take_days_make_a_test_longer_by_these_days() -> None:
    question = {"baseline_rate": 20, "effect": 10, "daily_visitors": 800}
    at_once, later = asked(**question), asked(**question, window=14)
    # R: power.prop.test(p1 = .2, p2 = .22, power = .8)$n = 6,510 an arm; 13,020 visitors at 800 a day.
    assert (at_once.days, later.days) == (17, 31)
    assert later.days_in_whole_weeks == 35
    assert later.visitors_total == at_once.visitors_total
    assert asked(baseline_rate=20, effect=10, window=14).days is None


def test_what_cannot_be_found_has_no_size() -> None:
    assert asked(baseline_rate=60, effect=100) == SampleAnswer(
        visitors_per_variant=None,
        visitors_total=None,
        detectable_effect=None,
        days=None,
        days_in_whole_weeks=None,
    )
    assert asked(baseline_rate=5, effect=0).visitors_per_variant is None


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({}, {"baseline_rate", "effect"}),
        ({"baseline_rate": 5, "baseline_mean": 3, "effect": 1}, {"baseline_rate", "standard_deviation"}),
        ({"baseline_rate": 5, "effect": 1, "visitors_per_variant": 10}, {"effect"}),
        ({"baseline_rate": 100, "effect": 1, "variants": 1}, {"baseline_rate", "variants"}),
        ({"baseline_rate": 5, "effect": 1, "power": 3}, {"power"}),
        ({"baseline_rate": 5, "efect": 1}, {"effect", "efect"}),
        ({"baseline_rate": 5, "effect": 1, "method": "peeking"}, {"method"}),
    ],
)
def test_every_problem_of_a_question_is_named(fields: dict[str, Any], problems: set[str]) -> None:
    assert refused(**fields) == problems


def test_a_value_out_of_bounds_is_named_once() -> None:
    for fields in ({"baseline_rate": True, "effect": 10}, {"baseline_rate": 5, "effect": "x"}):
        with pytest.raises(InvalidDesignError) as error:
            read_question(fields)
        assert len(error.value.problems) == 1


def test_guardrails_to_be_shown_non_inferior_share_the_power() -> None:
    guardrail = asked(baseline_rate=10, effect=0, margin=4, guardrails=1).visitors_per_variant
    # statsmodels: NormalIndPower().solve_power(.004/.3, alpha=.05, power=.9, alternative="larger") is 96,343
    # an arm of one variance; that of a control less the margin is .96² of it.
    assert guardrail == pytest.approx(96_343 * (1 + 0.96**2) / 2, rel=1e-4)
    # Variants and stopping rules are the primary goal's.
    others = asked(baseline_rate=10, effect=0, margin=4, guardrails=1, variants=3, method="always_valid")
    assert others.visitors_per_variant == guardrail
    # Twice the tests, half the chance of missing one: 90% power for the primary goal.
    primary, ninety = (
        asked(baseline_rate=10, effect=10, **more) for more in ({"guardrails": 1}, {"power": 90})
    )
    assert primary == ninety


def test_clusters_need_more_visitors_by_their_design_effect() -> None:
    # 1 + (40 · (1 + 0.5²) - 1) · 0.1 = 5.9 times the 31,234 visitors of the textbook.
    effect = effect_of_clusters(40, 0.1, 0.5)
    found = asked(baseline_rate=5, effect=10, design_effect=effect)
    assert found.visitors_per_variant == pytest.approx(5.9 * 31_234, abs=6)
    again = asked(baseline_rate=5, visitors_per_variant=found.visitors_per_variant, design_effect=effect)
    assert again.detectable_effect == pytest.approx(10, abs=1e-3)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ((40, None), {"intra_class_correlation"}),
        ((None, 0.1), {"cluster_size"}),
        ((None, None, 1.0), {"cluster_size", "intra_class_correlation"}),
        ((0.5, 1.5, -1.0), {"cluster_size", "intra_class_correlation", "cluster_size_variation"}),
    ],
)
def test_clusters_have_a_size_and_a_correlation(given: tuple[Any, ...], fields: set[str]) -> None:
    with pytest.raises(InvalidDesignError) as error:
        effect_of_clusters(*given)
    assert {problem.field for problem in error.value.problems} == fields


def test_visitors_without_clusters_have_no_design_effect() -> None:
    assert effect_of_clusters(None, None) == 1.0
