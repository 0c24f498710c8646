import numpy as np
import pytest
from scipy import special
from statsmodels.stats.weightstats import DescrStatsW

from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.stratification import (
    FLOOR,
    Stratified,
    stratify,
    thompson_weights,
)

EPOCHS, SIMULATIONS, PER_EPOCH = 20, 4_000, 2_000


def steered_experiments(rates: tuple[float, float], season: FloatArray, seed: int) -> tuple[Moments, Moments]:
    """Two arms under Thompson sampling, weights moved after each epoch, base rates moving with the season."""
    rng = np.random.default_rng(seed)
    n, hits = np.zeros((2, EPOCHS, SIMULATIONS)), np.zeros((2, EPOCHS, SIMULATIONS))
    weight = np.full(SIMULATIONS, 0.5)
    for epoch in range(EPOCHS):
        n[1, epoch] = rng.binomial(PER_EPOCH, weight)
        n[0, epoch] = PER_EPOCH - n[1, epoch]
        hits[:, epoch] = rng.binomial(n[:, epoch].astype(int), np.array(rates)[:, None] * season[epoch])
        a, b = hits.sum(axis=1) + 1, (n - hits).sum(axis=1) + 1
        mean, variance = a / (a + b), a * b / (a + b) ** 3
        chance = special.ndtr((mean[1] - mean[0]) / np.sqrt(variance.sum(axis=0)))
        weight = thompson_weights(np.stack([1 - chance, chance], axis=-1))[:, 1]
    return Moments.of_shares(hits[0], n[0]), Moments.of_shares(hits[1], n[1])


def missed(result: Stratified, truth: float) -> float:
    change = result.variant.minus(result.control)
    return float((np.abs(change.value - truth) > 1.96 * np.sqrt(change.variance)).mean())


def test_intervals_miss_no_more_than_they_say_without_an_effect() -> None:
    control, variant = steered_experiments((0.05, 0.05), np.linspace(0.7, 1.3, EPOCHS), seed=1)
    # Monte-Carlo error of 4,000 simulations: 0.0034.
    assert missed(stratify(control, variant), 0.0) <= 0.05 + 3 * 0.0034


def test_intervals_hold_the_truth_while_weights_follow_it_and_seasons_change() -> None:
    control, variant = steered_experiments((0.05, 0.06), np.linspace(0.7, 1.3, EPOCHS), seed=2)
    assert missed(stratify(control, variant), 0.01) == pytest.approx(0.05, abs=0.012)


def test_pooling_over_epochs_would_mistake_a_good_season_for_a_good_arm() -> None:
    control, variant = steered_experiments((0.05, 0.055), np.linspace(0.7, 1.3, EPOCHS), seed=3)
    pooled = variant.total.sum(axis=0) / variant.n.sum(axis=0) - control.total.sum(axis=0) / control.n.sum(
        axis=0
    )
    result = stratify(control, variant)
    stratified = result.variant.minus(result.control)
    assert stratified.value.mean() == pytest.approx(0.005, abs=2e-4)
    assert pooled.mean() > 0.006


@pytest.mark.parametrize("late", [10, 100, 500])
def test_an_epoch_in_which_an_arm_had_next_to_nobody_makes_no_loser(late: int) -> None:
    rng, repeats = np.random.default_rng(5), 4_000
    n = np.array([[5_000, 10_000 - late], [5_000, late]])[..., None] * np.ones(repeats)
    hits = rng.binomial(n.astype(int), 0.02)
    result = stratify(Moments.of_shares(hits[0], n[0]), Moments.of_shares(hits[1], n[1]))
    # With the variance of ten visitors of whom none converts, 0, four in five tests were lost.
    assert missed(result, 0.0) <= 0.05 + 3 * 0.0034


def test_an_epoch_with_enough_of_both_kinds_keeps_its_own_variance() -> None:
    arm = Moments.of_shares([10.0, 400.0], [1_000.0, 1_000.0])
    own = arm.variance / arm.n
    within = arm.m2.sum() / (arm.n.sum() - 2) / 1_000.0
    assert stratify(arm, arm).variant.variance == pytest.approx(0.25 * (within + own[1]))


def test_one_epoch_is_the_plain_comparison() -> None:
    values = np.random.default_rng(4).normal(3, 2, 200)
    moments = Moments.of(values[None, :])
    result = stratify(moments, moments)
    assert result.variant.value == pytest.approx(values.mean())
    assert np.sqrt(result.variant.variance) == pytest.approx(DescrStatsW(values).std_mean)


def test_constant_weights_in_equal_epochs_are_a_plain_average() -> None:
    control = Moments.of_shares([10.0, 30.0], [100.0, 100.0])
    assert stratify(control, control).control.value == pytest.approx(0.2)


def test_epochs_that_only_one_arm_saw_are_left_out_and_said_so() -> None:
    control = Moments.of_shares([10.0, 50.0], [100.0, 300.0])
    variant = Moments.of_shares([20.0, 0.0], [100.0, 0.0])
    result = stratify(control, variant)
    assert result.control.value == pytest.approx(0.1)
    assert result.control.n == 100
    assert result.covered == pytest.approx(200 / 500)


def test_no_common_epoch_is_no_estimate() -> None:
    result = stratify(Moments.of_shares([1.0, 0.0], [10.0, 0.0]), Moments.of_shares([0.0, 1.0], [0.0, 10.0]))
    assert not result.control.defined
    assert result.covered == 0.0


def test_weights_follow_the_chances_over_a_floor() -> None:
    weights = thompson_weights([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    np.testing.assert_allclose(weights[0], [1 - FLOOR * 2 / 3, FLOOR / 3, FLOOR / 3])
    assert np.all(weights >= FLOOR / 3)
    np.testing.assert_allclose(thompson_weights([0.2, 0.8], floor=0.0), [0.2, 0.8])


def test_chances_of_nothing_split_evenly() -> None:
    np.testing.assert_allclose(thompson_weights([0.0, 0.0]), [0.5, 0.5])


def test_a_floor_above_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="floor is a share"):
        thompson_weights([0.5, 0.5], floor=1.5)
