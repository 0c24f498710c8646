from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.decision.established import (
    Established,
    GoalRoles,
    established_at_any_look,
    established_at_plan,
)
from engine.analysis.decision.look_statistics import LookStatistics

PRIMARY = GoalRoles(is_primary=np.array([True]), is_guardrail=np.array([False]))
# Waudby-Smith et al. (2024), theorem 2.2: the critical value at the planned sample for alpha = 0.05.
CRITICAL = 3.035122413


def look(**values: Any) -> LookStatistics:
    """Build the statistics of one look, goals by variants; what is left out has no number."""
    shape = np.asarray(next(iter(values.values()))).shape
    nothing, everywhere = np.full(shape, np.nan), np.ones(shape, bool)
    defaults: dict[str, Any] = {
        **dict.fromkeys(("z", "above", "below", "margin_z", "log_p_margin"), nothing),
        **dict.fromkeys(("is_monitored", "is_enough", "has_outcomes"), everywhere),
        "lacks_margin": np.zeros(shape, bool),
    }
    return LookStatistics(**{**defaults, **{name: np.asarray(value) for name, value in values.items()}})


def at_any_look(statistics: LookStatistics, roles: GoalRoles = PRIMARY, **terms: Any) -> Established:
    defaults = {"alpha": 0.05, "fraction": np.asarray(1.0), "is_first_week_over": np.asarray(True)}
    return established_at_any_look(statistics, roles=roles, **{**defaults, **terms})


def test_winner_and_loser_at_any_look_lie_beyond_the_confidence_sequence() -> None:
    z = [[CRITICAL - 0.01, CRITICAL + 0.01, -CRITICAL + 0.01, -CRITICAL - 0.01]]
    found = at_any_look(look(z=z))
    assert found.wins.tolist() == [[False, True, False, False]]
    assert found.loses.tolist() == [[False, False, False, True]]


def test_in_the_first_week_nothing_wins_and_losers_lose() -> None:
    statistics = look(z=[[9.0, -9.0]], above=[[9.0, 9.0]], below=[[9.0, 9.0]])
    found = at_any_look(statistics, is_first_week_over=np.asarray(False))
    assert not found.wins.any()
    assert not found.equivalent.any()
    assert found.loses.tolist() == [[False, True]]


def test_without_enough_expected_conversions_nothing_holds_at_any_look() -> None:
    found = at_any_look(look(z=[[9.0, -9.0]], is_monitored=[[False, False]]))
    assert not (found.wins | found.loses).any()


def test_at_the_plan_the_ordinary_test_judges() -> None:
    limit = stats.norm.isf(0.025)
    statistics = look(z=[[limit - 0.01, limit + 0.01, -limit - 0.01, 9.0]], is_enough=[[True] * 3 + [False]])
    found = established_at_plan(statistics, roles=PRIMARY, alpha=0.05)
    assert found.wins.tolist() == [[False, True, False, False]]
    assert found.loses.tolist() == [[False, False, True, False]]
    left = established_at_plan(statistics, roles=PRIMARY, alpha=0.05, tests_differences=False)
    assert not (left.wins | left.loses).any()


def test_a_boundary_of_spending_judges_the_primary_goal_only() -> None:
    roles = GoalRoles(is_primary=np.array([True, False]), is_guardrail=np.zeros(2, bool))
    found = at_any_look(look(z=[[2.5], [2.5]]), roles, primary_critical=np.asarray(2.4))
    assert found.wins.tolist() == [[True], [False]]


def test_no_difference_needs_both_bounds() -> None:
    q = 1.645
    statistics = look(above=[[q + 0.01, q - 0.01, 9.0]], below=[[q + 0.01, 9.0, q - 0.01]])
    assert established_at_plan(statistics, roles=PRIMARY, alpha=0.01).equivalent.tolist() == [
        [True, False, False]
    ]
    # The sequence's level stays .05, whatever the number of variants.
    sequence = look(above=[[CRITICAL + 0.01, CRITICAL - 0.01]], below=[[9.0, 9.0]])
    assert at_any_look(sequence, alpha=0.01).equivalent.tolist() == [[True, False]]


def test_secondary_goals_are_called_by_false_discovery_rate_and_the_primary_by_itself() -> None:
    roles = GoalRoles(is_primary=np.array([True, *[False] * 4]), is_guardrail=np.zeros(5, bool))
    p = np.array([[0.04], [0.04], [0.2], [0.3], [0.9]])
    found = established_at_plan(look(z=stats.norm.isf(p / 2)), roles=roles, alpha=0.05)
    assert found.wins[:, 0].tolist() == [True, False, False, False, False]
    # Benjamini and Hochberg (1995): .01 · 4/1 and .02 · 4/2 are at most .05.
    p[1:3] = [[0.01], [0.02]]
    found = established_at_plan(look(z=-stats.norm.isf(p / 2)), roles=roles, alpha=0.05)
    assert found.loses[:, 0].tolist() == [True, True, True, False, False]


def test_guardrails_share_their_level_and_are_not_called_otherwise() -> None:
    roles = GoalRoles(is_primary=np.array([True, False, False]), is_guardrail=np.array([False, True, True]))
    limit = stats.norm.isf(0.05 / 2 / 2)
    statistics = look(
        z=[[0.0] * 2, [-9.0] * 2, [0.0] * 2],
        margin_z=[[-9.0] * 2, [-limit - 0.01, -limit + 0.01], [1.0] * 2],
    )
    found = established_at_plan(statistics, roles=roles, alpha=0.05)
    assert found.broken.tolist() == [[False, False], [True, False], [False, False]]
    assert not found.loses.any()


def test_few_conversions_of_a_guardrail_are_judged_by_the_exact_test() -> None:
    roles = GoalRoles(is_primary=np.array([True, False]), is_guardrail=np.array([False, True]))
    statistics = look(
        z=[[0.0, 0.0]] * 2,
        margin_z=[[np.nan] * 2, [-9.0, -9.0]],
        log_p_margin=[[np.nan] * 2, np.log([0.06, 0.04])],
        is_monitored=[[False, False]] * 2,
    )
    assert at_any_look(statistics, roles).broken.tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize("fraction", [0.1, 0.5, 1.0])
def test_many_runs_and_days_are_judged_like_each_alone(fraction: float) -> None:
    z = np.random.default_rng(3).normal(0, 3, (4, 5, 1, 2))
    together = at_any_look(
        look(z=z), fraction=np.full((4, 5), fraction), is_first_week_over=np.ones((4, 5), bool)
    )
    each = [[at_any_look(look(z=one), fraction=np.asarray(fraction)).wins for one in run] for run in z]
    np.testing.assert_array_equal(together.wins, np.array(each))


def test_each_guardrail_is_shown_within_its_margin_at_a_one_sided_5_percent_however_many_there_are() -> None:
    limit = stats.norm.isf(0.05)
    statistics = look(margin_z=[[9.0, 9.0], [limit - 0.01, limit + 0.01], [limit + 0.01, -9.0]])
    roles = GoalRoles(
        is_primary=np.array([True, False, False]),
        is_guardrail=np.array([False, True, True]),
        requires_non_inferiority=True,
    )
    shown = [[False, False], [False, True], [True, False]]
    assert established_at_plan(statistics, roles=roles, alpha=0.05).non_inferior.tolist() == shown
    beyond = look(margin_z=[[9.0, 9.0], [CRITICAL - 0.01, CRITICAL + 0.01], [9.0, -9.0]])
    assert at_any_look(beyond, roles).non_inferior.tolist() == [[False, False], [False, True], [True, False]]


def test_nothing_is_shown_non_inferior_unless_it_is_asked_for() -> None:
    guardrail = GoalRoles(is_primary=np.array([False]), is_guardrail=np.array([True]))
    far = look(margin_z=[[9.0]])
    assert not at_any_look(far, guardrail).non_inferior.any()
    asked = GoalRoles(
        is_primary=np.array([False]), is_guardrail=np.array([True]), requires_non_inferiority=True
    )
    assert at_any_look(far, asked).non_inferior.all()
    for without in ("is_monitored", "lacks_margin"):
        flag = np.array([[without == "lacks_margin"]])
        assert not at_any_look(look(margin_z=[[9.0]], **{without: flag}), asked).non_inferior.any()
