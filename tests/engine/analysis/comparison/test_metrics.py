"""When conversions are adjusted by the past, and what that leaves of error rates."""

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.comparison.metrics import adjusted_metrics
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import compare_means, log_p_shares
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def conversions(sizes: list[int], repeats: int, rate: float, seed: int) -> VisitorValues:
    """Goals in which three in ten convert of those who did before, and `rate` of the others."""
    rng = np.random.default_rng(seed)
    cells = []
    for n in sizes:
        past = rng.random((repeats, n)) < rate
        now = rng.random((repeats, n)) < np.where(past, 0.3, rate)
        cells.append(PairedMoments.of(past, now))
    pairs = PairedMoments.stack(cells, axis=-1)
    return replace(VisitorValues.of(pairs.y), before=pairs)


def test_an_arm_without_visitors_keeps_nobody_from_being_adjusted() -> None:
    shares = np.ones(3, bool)
    seen = adjusted_metrics(conversions([800, 800], 3, 0.1, 1), is_share=shares)
    switched_off = adjusted_metrics(conversions([800, 800, 0], 3, 0.1, 1), is_share=shares)
    assert seen.is_adjusted.all()
    assert switched_off.is_adjusted.all()
    np.testing.assert_allclose(switched_off.moments.mean[:, :2], seen.moments.mean)
    assert (switched_off.moments.n[:, 2] == 0).all()


def test_an_arm_with_few_conversions_leaves_all_to_exact_tests() -> None:
    found = adjusted_metrics(conversions([800, 800, 20], 3, 0.1, 1), is_share=np.ones(3, bool))
    assert not found.is_adjusted.any()
    assert (found.reduction == 0).all()


@pytest.mark.parametrize(("sizes", "rate"), [([1000, 1000], 0.01), ([3600, 400], 0.02)])
def test_changing_from_exact_to_adjusted_tests_on_the_way_is_no_loophole(
    sizes: list[int], rate: float
) -> None:
    # About every second of these has ten conversions in both arms.
    repeats = 2_000
    values = conversions(sizes, repeats, rate, 2)
    found = adjusted_metrics(values, is_share=np.ones(repeats, bool))
    assert 0.3 < found.is_adjusted.mean() < 0.8
    control, variant = (Estimate.of(found.moments[:, arm]) for arm in (0, 1))
    hits = np.rint(values.value.total)
    exact = log_p_shares(Tables.of(hits[:, 0], sizes[0], hits[:, 1], sizes[1]))
    log_p = np.where(found.is_adjusted, compare_means(control, variant, 0.05).log_p, exact)
    # Two Monte-Carlo standard errors of 0.005 above the level.
    assert (log_p < np.log(0.05)).mean() < 0.06


def test_a_past_that_all_share_adjusts_nothing() -> None:
    values = conversions([500, 500], 2, 0.1, 3)
    everybody = Moments.of_shares(values.value.n, values.value.n)
    past = PairedMoments(
        values.value.n, everybody.mean, values.value.mean, everybody.m2, values.value.m2, everybody.m2
    )
    found = adjusted_metrics(replace(values, before=past), is_share=np.ones(2, bool))
    assert not found.is_adjusted.any()
    np.testing.assert_array_equal(found.moments.m2, values.value.m2)
