from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments, PairedMoments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

VISITORS, HITS = np.array([200, 210]), np.array([[4, 9]])


def values_with(before: list[int]) -> VisitorValues:
    """Ones and zeros before and after, which have nothing to do with each other."""
    n = np.broadcast_to(VISITORS.astype(float), (1, 2))
    now, past = Moments.of_shares(HITS, VISITORS), Moments.of_shares([before], VISITORS)
    pairs = PairedMoments(n, past.mean, now.mean, past.m2, now.m2, np.zeros((1, 2)))
    return replace(VisitorValues.of(now), before=pairs)


def bayesian(**statistics: object) -> Experiment:
    return an_experiment(analysis_method="bayesian", statistics=Statistics(**statistics))  # type: ignore[arg-type]


def test_prior_is_worth_a_hundred_visitors_who_convert_as_before() -> None:
    evidence = observed(VISITORS.tolist(), HITS.tolist(), values=values_with([20, 21]))
    informed = prepare(bayesian(prior="pre_period"), evidence)
    assert informed.beta_priors == pytest.approx(np.array([[11.0, 91.0]]))
    assert (prepare(bayesian(), evidence).beta_priors == 1).all()


def test_chance_under_the_prior_is_that_of_draws_and_closer_to_even() -> None:
    evidence = observed(VISITORS.tolist(), HITS.tolist(), values=values_with([20, 21]))
    flat = analyze(bayesian(), evidence, now=NOW).goals[0].variants[1]
    found = analyze(bayesian(prior="pre_period"), evidence, now=NOW).goals[0].variants[1]
    rng = np.random.default_rng(1)
    draws = [rng.beta(11 + hit, 91 + n - hit, 400_000) for hit, n in zip(HITS[0], VISITORS, strict=True)]
    assert found.chance_to_beat == pytest.approx((draws[1] > draws[0]).mean(), abs=0.003)
    assert (flat.chance_to_beat or 0) > (found.chance_to_beat or 1) > 0.5
    # An interval of ratios, from the same posteriors.
    interval = found.improvement_interval
    assert interval is not None
    tails = (1 - interval.level) / 2
    assert interval.low == pytest.approx(np.quantile(draws[1] / draws[0], tails) - 1, abs=0.02)


def test_loss_under_the_prior_is_that_of_draws_whichever_way_is_wanted() -> None:
    evidence = observed(VISITORS.tolist(), HITS.tolist(), values=values_with([20, 21]))
    rng = np.random.default_rng(2)
    draws = [rng.beta(11 + hit, 91 + n - hit, 400_000) for hit, n in zip(HITS[0], VISITORS, strict=True)]
    for direction, sign in (("increase", 1.0), ("decrease", -1.0)):
        goal = a_goal(config={"event_name": "x", "direction": direction})
        experiment = replace(bayesian(prior="pre_period"), goals=(goal,))
        found = analyze(experiment, evidence, now=NOW).goals[0].variants[1].expected_loss
        lost = np.maximum(sign * (draws[0] - draws[1]), 0.0)
        # Four standard errors of the draws.
        assert found == pytest.approx(lost.mean(), abs=4 * lost.std() / np.sqrt(lost.size))


def test_a_change_lies_in_its_own_interval_however_far_the_prior_draws_it_back() -> None:
    visitors, hits = [100, 100], [[10, 45]]
    now, n = Moments.of_shares(hits, visitors), np.full((1, 2), 100.0)
    past = Moments.of_shares([[10, 10]], visitors)
    pairs = PairedMoments(n, past.mean, now.mean, past.m2, now.m2, np.zeros((1, 2)))
    evidence = observed(visitors, hits, values=replace(VisitorValues.of(now), before=pairs))
    found = analyze(bayesian(prior="pre_period"), evidence, now=NOW).goals[0].variants[1]
    # Of 202 visitors, the prior's among them, 21 and 56 converted.
    assert found.improvement == pytest.approx(56 / 21 - 1)
    assert found.absolute_difference == pytest.approx(35 / 202)
    interval = found.improvement_interval
    assert interval is not None
    assert (interval.low or 0) < 56 / 21 - 1 < (interval.high or 0) < 45 / 10 - 1


def test_values_that_cannot_be_of_the_same_visitors_are_refused() -> None:
    values = values_with([20, 21])
    with pytest.raises(InvalidEvidenceError, match="values must have the shape"):
        observed([1, 2, 3], [[0, 0, 0]], values=values)
    with pytest.raises(InvalidEvidenceError, match="each in one of them"):
        replace(values, without_before=Moments.of_shares([[1, 1]], [[5, 5]]))
    with pytest.raises(InvalidEvidenceError, match="caps must have"):
        replace(values, caps=np.zeros(3))
    with pytest.raises(InvalidEvidenceError, match="capped must have"):
        replace(values, capped=np.zeros(3, np.int64))
