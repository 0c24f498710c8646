from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from tests.builders import NOW, a_goal, an_experiment
from tests.examples import examples
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
        found = analyze(experiment, evidence, now=NOW).goals[0].variants[1].compared.expected_loss
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
    assert found.compared.absolute_difference == pytest.approx(35 / 202)
    interval = found.improvement_interval
    assert interval is not None
    assert (interval.low or 0) < 56 / 21 - 1 < (interval.high or 0) < 45 / 10 - 1


def assert_inside(experiment: Experiment, evidence: Evidence) -> None:
    effects = assess_significance(prepare(experiment, evidence)).effects
    known = ~np.isnan(effects.low)
    slack = 1e-9 * (1.0 + np.abs(effects.improvement))
    assert (effects.low - slack <= effects.improvement)[known].all()
    assert (effects.improvement <= effects.high + slack)[known].all()
    # No interval without its centre.
    assert not np.isnan(effects.improvement[known]).any()


@examples(25, 100)
@given(
    st.lists(st.integers(1, 3000), min_size=2, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.floats(0, 1),
    st.sampled_from(["flat", "pre_period", "lift"]),
    st.sampled_from([50, 80, 95, 99]),
)
def test_a_credible_interval_holds_its_improvement(
    visitors: list[int], rates: list[float], before: float, prior: str, level: int
) -> None:
    arms = len(visitors)
    n = np.array(visitors)
    # Squares, so that rare conversions and none at all are common.
    hits = np.round(n * np.array(rates[:arms]) ** 2).astype(int)[None]
    now, past = Moments.of_shares(hits, n), Moments.of_shares(np.round(n * before)[None], n)
    pairs = PairedMoments(now.n, past.mean, now.mean, past.m2, now.m2, np.zeros((1, arms)))
    evidence = observed(visitors, hits.tolist(), values=replace(VisitorValues.of(now), before=pairs))
    experiment = replace(
        an_experiment(weights=(1,) * arms, analysis_method="bayesian", statistics=Statistics(prior=prior)),  # type: ignore[arg-type]
        confidence_level=level,
    )
    assert_inside(experiment, evidence)


@examples(25, 100)
@given(
    st.lists(st.tuples(st.floats(-50, 500), st.floats(1e-3, 1e4)), min_size=2, max_size=2),
    st.lists(st.integers(2, 10_000), min_size=2, max_size=2),
    st.sampled_from(["flat", "lift"]),
    st.sampled_from([50, 95, 99]),
)
@example([(1e-77, 1.0), (3.0, 1.0)], [2, 2], "lift", 95)
@example([(5e-324, 1.0), (3.0, 1.0)], [2, 2], "lift", 95)
def test_a_credible_interval_of_revenue_holds_its_improvement(
    arms: list[tuple[float, float]], visitors: list[int], prior: str, level: int
) -> None:
    n, (mean, deviation) = np.array(visitors, np.float64), np.array(arms).T
    cents = Moments(n[None], mean[None], (deviation**2 * (n - 1.0))[None])
    experiment = an_experiment(
        goals=(a_goal(goal_type="revenue"),),
        analysis_method="bayesian",
        statistics=Statistics(prior=prior),  # type: ignore[arg-type]
    )
    evidence = observed(visitors, visitors, cents=cents)
    assert_inside(replace(experiment, confidence_level=level), evidence)


def test_an_arm_without_conversions_has_the_median_of_its_posterior() -> None:
    found = analyze(bayesian(), observed([1000, 1000], [30, 0]), now=NOW).goals[0].variants[1]
    rng = np.random.default_rng(3)
    ratio = rng.beta(1, 1001, 400_000) / rng.beta(31, 971, 400_000)
    # -100% would be outside of the interval, and can't be.
    assert found.improvement == pytest.approx(np.median(ratio) - 1, abs=2e-4)
    assert found.compared.absolute_difference == pytest.approx(-0.03)


@pytest.mark.parametrize("hits", [0, 1, 2, 5, 9, 10, 20])
def test_few_conversions_under_a_prior_on_the_lift_have_the_posterior_of_their_counts(hits: int) -> None:
    evidence = observed([10_000, 10_000], [30, hits])
    found = analyze(bayesian(prior="lift"), evidence, now=NOW).goals[0].variants[1]

    def density(lift: float) -> float:
        # Of rare conversions in equal arms, each is the variant's with probability (1 + l) / (2 + l).
        log_fit = hits * np.log1p(lift) - (30 + hits) * np.log(2.0 + lift)
        return float(np.exp(log_fit - 0.5 * (lift / 0.1) ** 2))

    total, mean = (integrate.quad(lambda x, k=k: x**k * density(x), -0.9, 2.0)[0] for k in (0, 1))
    assert found.improvement == pytest.approx(mean / total, abs=0.05)


def test_identical_arms_are_even_under_a_prior_from_the_pre_period() -> None:
    visitors, hits = [1234, 1234], [[7, 7]]
    now, past = Moments.of_shares(hits, visitors), Moments.of_shares([[31, 12]], visitors)
    pairs = PairedMoments(now.n, past.mean, now.mean, past.m2, now.m2, np.zeros((1, 2)))
    evidence = observed(visitors, hits, values=replace(VisitorValues.of(now), before=pairs))
    data = prepare(bayesian(prior="pre_period"), evidence)
    # 43 of 2,468 converted before: shapes that are not whole.
    assert data.beta_priors[0] == pytest.approx([1 + 100 * 43 / 2468, 1 + 100 * 2425 / 2468])
    found = analyze(bayesian(prior="pre_period"), evidence, now=NOW).goals[0].variants[1]
    assert found.chance_to_beat == pytest.approx(0.5, abs=1e-9)
    assert (found.compared.expected_loss or 0) > 0.0005


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
