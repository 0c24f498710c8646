import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from engine.stats.arrays import FloatArray, IntArray
from engine.stats.clustered_buckets import ClusteredBuckets, design_effects
from engine.stats.frequentist.quantiles import compare_quantiles
from tests.examples import examples, trials

EVENTS = st.lists(st.tuples(st.integers(0, 6), st.integers(-120, 120).map(float)), min_size=1, max_size=40)


def loads(
    rng: np.random.Generator, visitors: int, *, alike: float, factor: float = 1.0
) -> tuple[IntArray, FloatArray]:
    """Draw values of events; a share `alike` of the variance of their logarithms is the visitor's."""
    events = np.maximum(1, np.rint(rng.lognormal(1.0, 1.0, visitors))).astype(np.int64)
    who = np.repeat(np.arange(visitors), events)
    own = np.sqrt(alike) * rng.normal(size=visitors)[who]
    return who, factor * np.exp(own + np.sqrt(1.0 - alike) * rng.normal(size=len(who)))


@examples(40, 400)
@given(EVENTS, EVENTS)
def test_sums_of_visitors_can_be_taken_back(
    first: list[tuple[int, float]], second: list[tuple[int, float]]
) -> None:
    # No visitor is in both.
    others = [(who + 100, value) for who, value in second]
    both, one, other = (ClusteredBuckets.of(*np.array(rows).T) for rows in (first + others, first, others))
    left = both.without(other)
    assert left.buckets.tolist() == one.buckets.tolist()
    assert left.sums.tolist() == one.sums.tolist()
    assert left.visitors == one.visitors


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_the_variance_is_that_of_a_regression_with_errors_by_cluster(share: float) -> None:
    who, value = loads(np.random.default_rng(3), 300, alike=0.4)
    # Values that their buckets stand for, so that both have the same quantile.
    arm = ClusteredBuckets.of(who, np.rint(10 * value))
    counts = arm.value_counts(1.0)
    places = np.searchsorted(counts.values, np.rint(10 * value) * 0.994)
    at = np.searchsorted(np.cumsum(counts.counts), share * counts.n)
    below = np.cumsum(counts.counts)[at] - counts.counts[at]
    part = (share * counts.n - below) / counts.counts[at]
    is_below = np.where(places < at, 1.0, np.where(places == at, part, 0.0))
    assert is_below.mean() == pytest.approx(share)
    fit = sm.OLS(is_below, np.ones(len(who))).fit(
        cov_type="cluster", cov_kwds={"groups": who, "use_correction": False}
    )
    by_visitor = fit.bse[0] ** 2 * 300 / 299
    (found,) = design_effects([arm], share)
    assert found == pytest.approx(by_visitor / (is_below.var() / (len(who) - 1)), rel=1e-9)
    assert found > 1.5


def test_one_value_a_visitor_is_independent() -> None:
    arm = ClusteredBuckets.of(np.arange(50), np.arange(50.0))
    assert design_effects([arm, arm], 0.5) == [1.0, 1.0]
    assert design_effects([ClusteredBuckets.of([], []), ClusteredBuckets.of([], [])], 0.5) == [1.0, 1.0]


def test_values_that_one_visitor_has_twice_count_once() -> None:
    value = np.random.default_rng(4).lognormal(0.0, 1.0, 400)
    twice = ClusteredBuckets.of(np.repeat(np.arange(400), 2), np.repeat(value, 2))
    (found,) = design_effects([twice], 0.5)
    assert twice.value_counts(found).independent == pytest.approx(400, rel=0.005)


@pytest.mark.many(seconds=60)
@pytest.mark.parametrize(("share", "arms"), [(0.5, (200, 200)), (0.9, (900, 100))])
def test_errors_of_events_are_those_of_visitors(share: float, arms: tuple[int, int]) -> None:
    rng, runs = np.random.default_rng(11), trials(150, 3_000)
    sides, naive = np.zeros(2), 0
    for _ in range(runs):
        both = [ClusteredBuckets.of(*loads(rng, visitors, alike=0.3)) for visitors in arms]
        effects = design_effects(both, share)
        control, variant = (one.value_counts(effect) for one, effect in zip(both, effects, strict=True))
        found = compare_quantiles(control, variant, share, 0.05)
        sides[int(found.z > 0)] += found.log_p < np.log(0.05)
        control, variant = (one.value_counts(1.0) for one in both)
        plain = compare_quantiles(control, variant, share, 0.05)
        naive += plain.log_p < np.log(0.05)
    # Three standard errors beyond 2.5% on a side.
    assert (sides / runs < 0.025 + 3 * np.sqrt(0.025 * 0.975 / runs)).all()
    # Values that are taken for independent err several times as often.
    assert naive / runs > 0.1


def test_one_visitor_has_no_more_than_the_sums_leave_possible() -> None:
    assert ClusteredBuckets.of([0, 0, 0], [1.0, 5.0, 5.0]).most_of_one == 1.0
    assert ClusteredBuckets.of(np.arange(25), np.arange(25)).most_of_one == pytest.approx(0.2)
    who = np.repeat([0, 1, 2], [8, 1, 1])
    assert 0.8 < ClusteredBuckets.of(who, np.arange(10)).most_of_one < 0.82
    assert ClusteredBuckets.of([], []).most_of_one == 0.0
