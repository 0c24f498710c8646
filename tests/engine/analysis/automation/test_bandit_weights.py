from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.automation.bandit_weights import (
    LEAST_GROWTH,
    VISITORS_PER_VARIANT,
    NewWeights,
    next_weights,
)
from engine.analysis.comparison.best_variant import chance_best
from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.stats.moments import Moments
from engine.stats.stratification import FLOOR, stratify, stratify_arms
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed, observed_by_epoch


def a_bandit(**fields: Any) -> Experiment:
    return an_experiment(**{"status": "running", "traffic_strategy": "bandit", **fields})


def move(evidence: Evidence, **fields: Any) -> NewWeights | None:
    return next_weights(a_bandit(**fields), evidence, now=NOW)


GOOD = observed([5000, 5000], [250, 300])


def test_the_first_move_follows_the_chance_to_be_best() -> None:
    found = move(GOOD)
    # A million draws from the two posteriors, Monte-Carlo error 0.0004.
    rng = np.random.default_rng(1)
    better = np.mean(rng.beta(301, 4701, 10**6) > rng.beta(251, 4751, 10**6))
    assert found is not None
    assert found.chance[1] == pytest.approx(better, abs=0.002)
    assert found.weights[1] == pytest.approx(FLOOR / 2 + (1 - FLOOR) * found.chance[1], abs=1e-6)
    assert move(GOOD) == found


def test_the_control_keeps_the_floor_too() -> None:
    found = move(observed([5000, 5000], [100, 900]))
    assert found is not None
    assert found.weights == pytest.approx((FLOOR / 2, 1 - FLOOR / 2))


def test_what_wants_less_goes_to_the_lowest() -> None:
    less = (a_goal(config={"event_name": "complaint", "direction": "decrease"}),)
    found = move(GOOD, goals=less)
    plain = move(GOOD)
    assert found is not None
    assert plain is not None
    assert found.chance[0] == pytest.approx(plain.chance[1], abs=1e-3)


def test_a_good_day_is_no_good_arm() -> None:
    # In each epoch the arms do the same; the second is the better day, and most of it was the variant's.
    evidence = observed_by_epoch([[1, 1], [1, 9]], [[5000, 5000], [1000, 9000]], [[250, 250], [100, 900]])
    found = move(evidence, weights=(1, 9))
    assert found is not None
    assert found.chance[1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("evidence", "fields"),
    [
        (GOOD, {"traffic_strategy": "fixed"}),
        (GOOD, {"status": "paused"}),
        (GOOD, {"status": "completed"}),
        (GOOD, {"status": "draft", "goals": ()}),
        (GOOD, {"weights": (0, 1)}),
        (observed([0, 0], [0, 0]), {}),
        (observed([VISITORS_PER_VARIANT, VISITORS_PER_VARIANT - 1], [20, 90]), {}),
        (observed([6000, 4000], [250, 300]), {}),
        (observed([5000, 5000], [300, 300]), {}),
    ],
    ids=[
        "fixed",
        "paused",
        "completed",
        "no goal",
        "all weight on one arm",
        "no data",
        "too few visitors",
        "a broken split",
        "hardly a move",
    ],
)
def test_nothing_moves_without_reason(evidence: Evidence, fields: dict[str, Any]) -> None:
    assert move(evidence, **fields) is None


def test_an_epoch_has_to_grow_with_the_experiment() -> None:
    def after(lately: int) -> NewWeights | None:
        visitors = [[50_000, 50_000], [lately, 2 * lately]]
        return move(observed_by_epoch([[1, 1], [1, 2]], visitors, [[2500, 3000], [0, 0]]), weights=(1, 2))

    needed = LEAST_GROWTH * 100_000 / (1 - LEAST_GROWTH) / 3
    assert after(round(needed - 1)) is None
    assert after(round(needed + 1)) is not None


def test_a_variant_that_was_switched_off_stays_off() -> None:
    found = move(observed([5000, 0, 5000], [250, 0, 300]), weights=(1, 0, 1))
    assert found is not None
    assert found.weights[1] == found.chance[1] == 0
    assert sum(found.weights) == pytest.approx(1)


def test_twenty_variants_share_the_traffic() -> None:
    rng = np.random.default_rng(2)
    found = move(
        observed(rng.multinomial(40_000, [1 / 20] * 20).tolist(), [100] * 19 + [170]), weights=[1] * 20
    )
    assert found is not None
    assert min(found.weights) >= FLOOR / 20
    assert int(np.argmax(found.weights)) == 19
    assert sum(found.weights) == pytest.approx(1, abs=1e-5)


def test_an_arm_without_conversions_loses_traffic() -> None:
    found = move(observed([2000, 2000], [0, 40]))
    assert found is not None
    assert found.chance[0] < 1e-6
    assert move(observed([2000, 2000], [0, 0])) is None


def revenue(values: list[Any]) -> Moments:
    return Moments.stack([Moments.of(np.asarray(one, float)) for one in values])[None]


def test_money_is_judged_by_its_mean() -> None:
    rng = np.random.default_rng(3)
    a, b = (
        rng.exponential(100, 3000) * (rng.random(3000) < 0.1),
        rng.exponential(130, 3000) * (rng.random(3000) < 0.1),
    )
    found = chance_best(revenue([a, b]), money=True)
    z = (b.mean() - a.mean()) / np.hypot(stats.sem(a), stats.sem(b))
    assert found[1] == pytest.approx(stats.norm.cdf(z), abs=1e-6)
    assert chance_best(revenue([a, b]), money=True, wanted=-1)[0] == pytest.approx(found[1])


def test_where_nobody_bought_nothing_is_certain() -> None:
    bought = [0.0] * 990 + [500.0] * 10
    assert 0.5 < chance_best(revenue([[0.0] * 1000, bought]), money=True)[1] < 1
    assert np.isnan(chance_best(revenue([[0.0] * 1000, [0.0] * 1000]), money=True)).all()
    goals = (a_goal(goal_type="revenue", config={}),)
    assert move(observed([5000, 5000], [0, 0]), goals=goals) is None


def test_two_arms_at_once_are_the_comparison_of_two() -> None:
    rng = np.random.default_rng(4)
    n = rng.integers(50, 500, (6, 2))
    arms = Moments.of_shares(rng.binomial(n, 0.3), n)
    pair = stratify(arms[:, 0], arms[:, 1])
    both, size = stratify_arms(arms)
    np.testing.assert_allclose(both.value, [pair.control.value, pair.variant.value])
    np.testing.assert_allclose(both.variance, [pair.control.variance, pair.variant.variance])
    share = n.sum(axis=1) / n.sum()
    np.testing.assert_allclose(size, 1 / (share[:, None] ** 2 / n).sum(axis=0))
