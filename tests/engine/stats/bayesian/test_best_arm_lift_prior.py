"""The best of several arms under a prior on their lifts: by draws, and as one variant's own posterior."""

import numpy as np
import pytest

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.best_variant import chances_to_be_best
from engine.analysis.comparison.significance import assess_significance
from engine.design.analysis_settings import Statistics
from engine.stats.arrays import FloatArray
from engine.stats.bayesian import best_arm_lift_prior
from engine.stats.bayesian.best_arm_lift_prior import best_of_lifts
from engine.stats.bayesian.priors import update_lift
from engine.stats.estimates import Estimate
from tests.builders import a_goal, an_experiment
from tests.observations import observed

PRIOR = Statistics(prior="lift", prior_lift_percent=1.0, prior_deviation_percent=5.0)
UP = np.ones((1, 1))


def arms(value: list[float], error: list[float]) -> Estimate:
    one, other = np.array([value]), np.array([error]) ** 2
    return Estimate(one, other, np.full(one.shape, 1000.0))


def drawn(value: list[float], error: list[float], mean: float, deviation: float) -> FloatArray:
    """Draws from the prior, weighted by how well they fit what was observed; the first arm is the control."""
    rng, size = np.random.default_rng(1), 2_000_000
    control = rng.normal(value[0], error[0], size)
    lifts = rng.normal(mean, deviation, (len(value) - 1, size))
    seen, noise = np.array(value[1:])[:, None], np.array(error[1:])[:, None]
    weight = np.exp(-0.5 * (((seen - control * (1 + lifts)) / noise) ** 2).sum(axis=0))
    # Flat in the control's mean would count one variant's scale too often for each further one.
    scale = np.sqrt(noise**2 + (control * deviation) ** 2)
    weight *= np.exp((1 - 1 / len(lifts)) * np.log(scale).sum(axis=0))
    best = np.concatenate([np.zeros((1, size)), lifts]).argmax(axis=0)
    chances: FloatArray = np.bincount(best, weight, len(value)) / weight.sum()
    return chances


@pytest.mark.parametrize("hits", [[100, 112], [1000, 900], [30, 55], [1000, 1000]])
@pytest.mark.parametrize("direction", ["increase", "decrease"])
def test_of_two_arms_the_better_one_is_the_best(hits: list[int], direction: str) -> None:
    goals = (a_goal(config={"event_name": "x", "direction": direction}),)
    experiment = an_experiment(analysis_method="bayesian", statistics=PRIOR, goals=goals)
    evidence = observed([5000, 4000], hits)
    data = prepare(experiment, evidence)
    chance = assess_significance(data).effects.chance[0, 1]
    assert chances_to_be_best(data)[0] == pytest.approx([1 - chance, chance], abs=1e-7)


@pytest.mark.parametrize(
    ("value", "error", "deviation"),
    [([1.0, 1.04], [0.05, 0.05], 0.2), ([1.0, 1.2], [0.2, 0.1], 0.2), ([1.0, 1.1], [0.3, 0.3], 0.5)],
)
def test_of_two_uncertain_means_too(value: list[float], error: list[float], deviation: float) -> None:
    both = arms(value, error)
    alone = update_lift(both[:, [0]], both[:, [1]], prior_mean=0.0, prior_deviation=deviation)
    found = best_of_lifts(both, 0, prior_mean=0.0, prior_deviation=deviation, wanted=UP)
    assert found[0, 1] == pytest.approx(alone.chance[0, 0], abs=1e-6)


def test_of_several_it_is_the_one_that_draws_say() -> None:
    value, error = [0.10, 0.104, 0.109, 0.097], [0.004, 0.003, 0.006, 0.004]
    found = best_of_lifts(arms(value, error), 0, prior_mean=0.01, prior_deviation=0.05, wanted=UP)
    assert found[0] == pytest.approx(drawn(value, error, 0.01, 0.05), abs=0.004)
    assert found.sum() == pytest.approx(1.0)


def test_where_less_is_wanted_it_is_the_mirror_image() -> None:
    value, error = [1.0, 1.05, 0.93], [0.03, 0.03, 0.03]
    highest = best_of_lifts(arms(value, error), 0, prior_mean=0.0, prior_deviation=0.1, wanted=UP)
    lowest = best_of_lifts(arms(value, error), 0, prior_mean=0.0, prior_deviation=0.1, wanted=-UP)
    assert (highest[0].argmax(), lowest[0].argmax()) == (1, 2)
    assert lowest[0, 0] == pytest.approx(1 - lowest[0, 1:].sum())


@pytest.mark.parametrize("variants", [1, 2, 12])
def test_a_wide_prior_leaves_what_the_data_say(variants: int) -> None:
    hits = [[500, *[500 - 40 + 5 * i for i in range(variants)]]]
    wide = Statistics(prior="lift", prior_deviation_percent=1000.0)
    experiment = an_experiment(analysis_method="bayesian", statistics=wide, weights=(1,) * (variants + 1))
    flat = an_experiment(analysis_method="bayesian", weights=(1,) * (variants + 1))
    evidence = observed([5000] * (variants + 1), hits)
    assert chances_to_be_best(prepare(experiment, evidence)) == pytest.approx(
        chances_to_be_best(prepare(flat, evidence)), abs=0.02
    )


def test_what_is_not_known_is_no_number() -> None:
    nothing = best_of_lifts(arms([0.0, 0.1], [0.0, 0.01]), 0, prior_mean=0.0, prior_deviation=0.1, wanted=UP)
    same = best_of_lifts(arms([1.0, 1.0], [0.0, 0.0]), 0, prior_mean=0.0, prior_deviation=0.1, wanted=UP)
    assert np.isnan(nothing).all()
    assert np.isnan(same).all()
    one_unknown = best_of_lifts(
        arms([1.0, np.nan, 1.1], [0.1, np.nan, 0.1]), 0, prior_mean=0.0, prior_deviation=0.1, wanted=UP
    )[0]
    assert np.isnan(one_unknown[1])
    assert one_unknown[[0, 2]].sum() == pytest.approx(1.0)


def test_twenty_arms_of_very_unequal_size_add_up() -> None:
    rng = np.random.default_rng(2)
    value, error = [100.0, *rng.normal(100, 5, 19)], [9.0, *np.geomspace(0.05, 8, 19)]
    found = best_of_lifts(arms(value, error), 7, prior_mean=0.0, prior_deviation=0.1, wanted=UP)
    assert found.sum() == pytest.approx(1.0, abs=1e-6)


def test_many_arms_of_many_goals_are_judged_by_fewer_nodes_to_within_half_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(8)
    goals, arms = 6, 15
    shape = (goals, arms)
    means = Estimate(rng.normal(100.0, 3.0, shape), np.full(shape, 4.0), np.full(shape, 10_000.0))

    def chances() -> FloatArray:
        wanted = np.ones((goals, 1))
        return best_of_lifts(means, 0, prior_mean=0.0, prior_deviation=0.05, wanted=wanted)

    few = chances()
    monkeypatch.setattr(best_arm_lift_prior, "_NODES_TIMES_PAIRS", 10**9)
    every = chances()
    assert (few != every).any()
    np.testing.assert_allclose(few, every, atol=0.005)
    np.testing.assert_allclose(few.sum(axis=-1), 1.0, atol=1e-9)
