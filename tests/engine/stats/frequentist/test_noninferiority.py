import numpy as np
import pytest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from engine.stats.estimates import Estimate
from engine.stats.frequentist.noninferiority import noninferiority_test
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants

N = 20_000


def shares(hits: object, n: float = N) -> Estimate:
    return Estimate.of(Moments.of_shares(np.asarray(hits, np.float64), n))


def test_a_variant_exactly_at_the_margin_is_cleared_as_rarely_as_promised() -> None:
    rng = np.random.default_rng(1)
    judged = noninferiority_test(
        shares(rng.binomial(N, 0.10, 20_000)), shares(rng.binomial(N, 0.095, 20_000)), margin=0.05, alpha=0.05
    )
    # One-sided at 2.5%.
    assert judged.holds.mean() == pytest.approx(0.025, abs=0.004)


def test_less_is_wanted_mirrors_more_is_wanted() -> None:
    rng = np.random.default_rng(2)
    judged = noninferiority_test(
        shares(rng.binomial(N, 0.10, 20_000)),
        shares(rng.binomial(N, 0.105, 20_000)),
        margin=0.05,
        alpha=0.05,
        wanted=-1,
    )
    assert judged.holds.mean() == pytest.approx(0.025, abs=0.004)


@pytest.mark.parametrize("wanted", [1, -1])
def test_verdict_and_worst_case_never_disagree(wanted: int) -> None:
    rng = np.random.default_rng(3)
    judged = noninferiority_test(
        shares(rng.binomial(N, 0.10, 5_000)),
        shares(rng.binomial(N, rng.uniform(0.09, 0.11, 5_000))),
        margin=0.03,
        alpha=0.05,
        wanted=wanted,
    )
    assert 0.02 < judged.holds.mean() < 0.98
    np.testing.assert_array_equal(judged.holds, judged.worst > -0.03)
    np.testing.assert_array_equal(judged.holds, judged.log_p < np.log(0.025))


def test_a_clear_loss_breaks_the_guardrail_and_little_data_do_neither() -> None:
    judged = noninferiority_test(
        shares([2_000, 2_000, 10], N), shares([1_500, 1_999, 10], N), margin=0.05, alpha=0.05
    )
    assert judged.broken.tolist() == [True, False, False]
    assert judged.holds.tolist() == [False, False, False]


def test_without_a_margin_it_is_the_one_sided_z_test_of_statsmodels() -> None:
    values = [DescrStatsW(np.repeat([1.0, 0.0], [hits, N - hits])) for hits in (1_100, 1_000)]
    _, p = CompareMeans(*values).ztest_ind(alternative="larger", usevar="unequal")
    judged = noninferiority_test(shares([1_000]), shares([1_100]), margin=0.0, alpha=0.05)
    assert np.exp(judged.log_p[0]) == pytest.approx(p, rel=1e-9)


def test_a_share_of_nothing_is_no_margin() -> None:
    judged = noninferiority_test(shares([0, 5], 100), shares([5, 5], 100), margin=0.05, alpha=0.05)
    assert judged.defined.tolist() == [False, True]
    assert not judged.holds[0]
    assert np.isnan(judged.log_p[0])


@pytest.mark.parametrize("wanted", [1, -1])
def test_few_conversions_in_a_small_arm_break_no_more_guardrails_than_promised(wanted: int) -> None:
    # 60 conversions at 9:1, at the margin of 10%. Monte-Carlo error of 20,000 runs at 2.5%: 0.0011.
    rng, margin, rate = np.random.default_rng(8), 0.1, 0.01
    rates = np.array([rate, rate * (1 - wanted * margin)])
    visitors = np.array([5_400, 600])
    arms = Moments.of_shares(rng.binomial(visitors, rates, (20_000, 2)), visitors)
    control, variant = (Estimate.of(arms[:, place]) for place in (0, 1))

    def broken(cumulants: PooledCumulants | None) -> float:
        test = noninferiority_test(
            control, variant, margin=margin, alpha=0.05, wanted=wanted, cumulants=cumulants
        )
        assert (test.holds == (test.worst > -margin)).all()
        return float(test.broken.mean())

    corrected = broken(PooledCumulants.of(arms[:, 0], arms[:, 1]))
    assert abs(corrected - 0.025) <= 0.0055
    assert abs(broken(None) - 0.025) > 0.015
