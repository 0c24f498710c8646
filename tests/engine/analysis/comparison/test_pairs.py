"""Pairs: ratios by their own test, other metrics as before, whatever is asked of both at once."""

import numpy as np
import pytest

from engine.analysis.comparison.pairs import Pairs
from engine.analysis.evidence.visitor_values import no_pairs
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.equivalence import relative_z, remaining_lifts
from engine.stats.frequentist.mean_intervals import mean_difference_interval
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.skewness import PooledCumulants

SIZES = (900, 300, 100)


@pytest.fixture(scope="module")
def drawn() -> tuple[PairedMoments, Moments]:
    """Clicks and views of three arms, and the clicks as a metric of their own."""
    rng = np.random.default_rng(1)
    cells = []
    for n in SIZES:
        views = 1 + rng.poisson(rng.gamma(0.7, 4 / 0.7, n))
        cells.append(PairedMoments.of(views, rng.binomial(views, rng.beta(3, 7, n))))
    ratios = PairedMoments.stack(cells)
    return ratios, ratios.y


def pairs_of(drawn: tuple[PairedMoments, Moments]) -> tuple[Pairs, RatioArms]:
    """A ratio in the first row, a mean in the second."""
    ratios, clicks = drawn
    metric = Moments.stack([clicks, clicks])
    pairs = Pairs.of(metric, PairedMoments.stack([ratios, no_pairs((3,))]), 0)
    return pairs, RatioArms(ratios[[0, 0]], ratios[1:])


def assert_rows(found: FloatArray, ratio: FloatArray, mean: FloatArray) -> None:
    np.testing.assert_allclose(found[0, 1:], ratio, rtol=1e-12)
    np.testing.assert_allclose(found[1, 1:], mean, rtol=1e-12)


def test_each_goal_has_the_test_and_the_intervals_of_its_metric(
    drawn: tuple[PairedMoments, Moments],
) -> None:
    (pairs, arms), clicks = pairs_of(drawn), drawn[1]
    assert pairs.is_ratio.tolist() == [[True] * 3, [False] * 3]
    control, variant = clicks[[0, 0]], clicks[1:]
    cumulants = PooledCumulants.of(control, variant)
    estimates = Estimate.of(control), Estimate.of(variant)
    found, ratio = pairs.compare(0.1), arms.compare(0.1)
    mean = compare_means(*estimates, alpha=0.1, skewness=cumulants.skewness())
    for name in ("statistic", "df", "log_p", "low", "high"):
        assert_rows(getattr(found, name), getattr(ratio, name), getattr(mean, name))
    assert_rows(pairs.log_p(), ratio.log_p, mean.log_p)
    differences = (
        pairs.difference_interval(0.1),
        arms.difference_interval(arms.critical(0.1)),
        mean_difference_interval(*estimates, alpha=0.1, skewness=cumulants.skewness()),
    )
    lifts = (
        pairs.remaining_lifts(1.5),
        arms.lift_interval(1.5),
        remaining_lifts(*estimates, critical=1.5, cumulants=cumulants),
    )
    for bounds in (differences, lifts):
        for side in (0, 1):
            assert_rows(*(bound[side] for bound in bounds))
    assert_rows(
        pairs.relative_z(0.9), arms.z(kept=0.9), relative_z(*estimates, ratio=0.9, cumulants=cumulants)
    )


def test_equivalence_holds_where_the_remaining_lifts_lie_within_the_margin(
    drawn: tuple[PairedMoments, Moments],
) -> None:
    pairs, _ = pairs_of(drawn)
    low, high = pairs.remaining_lifts(1.645)
    seen = set()
    for margin in (0.05, 0.2, 0.5, 0.9):
        found = pairs.equivalence(margin)
        holds = (found.above > 1.645) & (found.below > 1.645)
        assert (holds == ((low > -margin) & (high < margin)))[:, 1:].all()
        seen |= set(holds[:, 1:].ravel().tolist())
    assert seen == {True, False}
