"""The proof by simulation: bandits whose base rate has a trend, read by epoch and read pooled."""

from datetime import timedelta

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.simulation.bandits import SimulatedBandits, evidence_of, simulate_bandits
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import Comparison, compare_means
from engine.stats.moments import Moments
from engine.stats.sequential.confidence_sequence import confidence_sequence
from engine.stats.stratification import FLOOR, stratify
from tests.builders import NOW, STARTED, an_experiment

EPOCHS, EXPERIMENTS, BASE = 12, 600, 0.05
TREND = np.linspace(0.5, 1.5, EPOCHS)
# Of a share of 5% among 600 experiments.
ERROR = (0.05 * 0.95 / EXPERIMENTS) ** 0.5


def steered(*lifts: float, seed: int) -> SimulatedBandits:
    rates = BASE * TREND[:, None] * (1 + np.array([0.0, *lifts]))
    return simulate_bandits(rates, per_epoch=2000, experiments=EXPERIMENTS, seed=seed)


def read(run: SimulatedBandits, *, by_epoch: bool) -> tuple[Estimate, Comparison]:
    """The difference and its test at 5%."""
    control, variant = run.moments[..., 0], run.moments[..., 1]
    if by_epoch:
        found = stratify(control, variant)
        pair = found.control, found.variant
    else:
        pair = Estimate.of(control.sum_over(0)), Estimate.of(variant.sum_over(0))
    return pair[1].minus(pair[0]), compare_means(*pair, 0.05)


def called(test: Comparison) -> float:
    return float(np.mean(test.log_p < np.log(0.05)))


def covered(change: Estimate, truth: float) -> float:
    return float(np.mean(np.abs(change.value - truth) <= 1.959964 * np.sqrt(change.variance)))


def test_by_epoch_a_bandit_calls_no_more_than_it_says_and_pooled_every_other_one() -> None:
    run = steered(0.0, seed=1)
    change, test = read(run, by_epoch=True)
    # Monte-Carlo error: 0.9 points.
    assert called(test) <= 0.05 + 3 * ERROR
    assert covered(change, 0.0) >= 0.95 - 3 * ERROR
    assert called(read(run, by_epoch=False)[1]) > 0.3


def test_by_epoch_intervals_hold_the_effect_and_pooled_ones_do_not() -> None:
    run, truth = steered(0.2, seed=2), 0.2 * BASE
    change, test = read(run, by_epoch=True)
    assert covered(change, truth) == pytest.approx(0.95, abs=3 * ERROR)
    assert np.mean((test.low <= 0.2) & (test.high >= 0.2)) == pytest.approx(0.95, abs=3 * ERROR)
    assert change.value.mean() == pytest.approx(truth, abs=3 * change.value.std() / EXPERIMENTS**0.5)
    pooled, _ = read(run, by_epoch=False)
    assert pooled.value.mean() > 1.4 * truth
    assert covered(pooled, truth) < 0.6


@pytest.mark.long(seconds=3)
def test_several_arms_hold_what_they_say_each() -> None:
    run = simulate_bandits(
        np.repeat(BASE * TREND[:, None], 4, axis=1), per_epoch=2000, experiments=300, seed=3
    )
    for arm in (1, 2, 3):
        found = stratify(run.moments[..., 0], run.moments[..., arm])
        wrong = called(compare_means(found.control, found.variant, 0.05))
        assert wrong <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


def test_traffic_follows_the_better_arm_over_the_floor() -> None:
    run = steered(0.3, seed=4)
    assert run.weights.min() >= FLOOR / 2 - 1e-9
    assert run.weights[-1, :, 1].mean() > 0.85
    np.testing.assert_allclose(run.weights.sum(axis=-1), 1)
    assert (run.visitors.sum(axis=-1) == 2000).all()


def test_without_moves_weights_stay_even_and_the_same_seed_gives_the_same() -> None:
    rates = np.full((3, 2), 0.1)
    still, again = (
        simulate_bandits(rates, per_epoch=100, experiments=5, seed=5, moves=False) for _ in range(2)
    )
    assert (still.weights == 0.5).all()
    np.testing.assert_array_equal(still.conversions, again.conversions)


def test_watching_an_edited_split_every_day_calls_no_more_than_it_says() -> None:
    # Ten days of 700 visitors split evenly, then twenty at 1 to 9, while the base rate triples.
    rng, runs = np.random.default_rng(6), 1000
    visitors, hits = np.zeros((2, 2, runs)), np.zeros((2, 2, runs))
    wrong, wrong_pooled = np.zeros(runs, bool), np.zeros(runs, bool)
    for day, season in enumerate(np.linspace(0.5, 1.5, 30)):
        epoch, weight = (0, 0.5) if day < 10 else (1, 0.9)
        variant = rng.binomial(700, weight, runs)
        came = np.stack([700 - variant, variant])
        visitors[epoch] += came
        hits[epoch] += rng.binomial(came, 0.1 * season)
        moments, fewest = Moments.of_shares(hits, visitors), hits.sum(axis=0).min(axis=0)
        found = stratify(moments[:, 0], moments[:, 1])
        pooled = Estimate.of(moments.sum_over(0))
        for pair, errors in (
            ((found.control, found.variant), wrong),
            ((pooled[0], pooled[1]), wrong_pooled),
        ):
            sequence = confidence_sequence(*pair, fewest_conversions=fewest, alpha=0.05)
            errors[sequence.log_p < np.log(0.05)] = True
    assert wrong.mean() <= 0.05
    assert wrong_pooled.mean() > 0.9


def test_one_experiment_is_evidence_for_a_report() -> None:
    run = simulate_bandits(np.full((4, 2), 0.1), per_epoch=2000, experiments=3, seed=7)
    evidence = evidence_of(run, 1, started_at=STARTED, every=timedelta(days=1))
    report = analyze(an_experiment(status="running", traffic_strategy="bandit"), evidence, now=NOW)
    found = stratify(run.moments[:, 1, 0], run.moments[:, 1, 1])
    assert report.goals[0].variants[1].compared.absolute_difference == pytest.approx(
        found.variant.value - found.control.value
    )
    assert report.estimand is not None
    assert [epoch.started_at.day for epoch in report.estimand.epochs] == [1, 2, 3, 4]
