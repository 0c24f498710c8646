import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.best_variant import chances_to_be_best
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

VISITORS, HITS = [1000, 1010, 990], [[100, 120, 118], [50, 40, 45]]


def drawn_chances(shares: list[int], *, wants_less: bool = False) -> list[float]:
    rng = np.random.default_rng(4)
    draws = np.stack(
        [rng.beta(1 + hit, 1 + n - hit, 400_000) for hit, n in zip(shares, VISITORS, strict=True)]
    )
    best = draws.argmin(axis=0) if wants_less else draws.argmax(axis=0)
    return [float((best == arm).mean()) for arm in range(3)]


def test_chances_of_shares_are_those_of_draws_whichever_way_is_wanted() -> None:
    goals = (
        a_goal(),
        a_goal(id="goal_2", is_primary=False, config={"event_name": "x", "direction": "decrease"}),
    )
    chances = chances_to_be_best(
        prepare(an_experiment(weights=(1, 1, 1), goals=goals), observed(VISITORS, HITS))
    )
    # 400,000 draws tell a chance to within 0.0008.
    assert chances[0] == pytest.approx(drawn_chances(HITS[0]), abs=0.003)
    assert chances[1] == pytest.approx(drawn_chances(HITS[1], wants_less=True), abs=0.003)


def test_chances_of_revenue_are_those_of_normal_means() -> None:
    n, mean = np.full((1, 3), 1000.0), np.array([[100.0, 110.0, 108.0]])
    cents = Moments(n, mean, n * 250.0**2)
    goals = (a_goal(goal_type="revenue", config={}),)
    experiment = an_experiment(weights=(1, 1, 1), goals=goals)
    chances = chances_to_be_best(prepare(experiment, observed([1000] * 3, [[100] * 3], cents=cents)))
    rng = np.random.default_rng(4)
    draws = rng.normal(mean[0][:, None], 250.0 / np.sqrt(999), (3, 400_000)).argmax(axis=0)
    assert chances[0] == pytest.approx(np.bincount(draws) / draws.size, abs=0.003)


def test_nobody_is_best_before_everybody_was_seen() -> None:
    chances = chances_to_be_best(prepare(an_experiment(weights=(1, 1)), observed([10, 0], [[1, 0]])))
    assert np.isnan(chances).all()
    assert chances_to_be_best(prepare(an_experiment(weights=()), observed([], [[]]))).size == 0


def test_report_carries_the_chance_of_the_control_too() -> None:
    variants = (
        analyze(an_experiment(weights=(1, 1, 1)), observed(VISITORS, HITS[:1]), now=NOW).goals[0].variants
    )
    assert sum(variant.chance_to_be_best or 0 for variant in variants) == pytest.approx(1.0)
