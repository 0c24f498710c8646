"""Several covariates against least squares of statsmodels."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm

from engine.stats.covariates import CovariateMoments, pooled_slopes
from engine.stats.cuped import adjust

Arm = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def arms(*sizes: int, seed: int = 2) -> list[Arm]:
    """Covariates of very different size, and outcomes that they explain in part."""
    rng = np.random.default_rng(seed)
    mixed = np.array([[1, 0.4, 0], [0, 1, 0.2], [0, 0, 1]])
    drawn = []
    for arm, n in enumerate(sizes):
        x = rng.normal(0, 1, (n, 3)) @ mixed * [1e-3, 1.0, 1e4] + 50
        drawn.append((x, 3 + 0.5 * arm + x @ [400.0, 0.7, 2e-4] + rng.normal(0, 1, n)))
    return drawn


def moments_of(drawn: list[Arm]) -> CovariateMoments:
    return CovariateMoments.of([x for x, _ in drawn], [y for _, y in drawn])


def fitted(drawn: list[Arm]) -> Any:
    """Fit the outcome on a constant for every arm and the covariates."""
    arm = np.repeat(np.arange(len(drawn)), [len(y) for _, y in drawn])
    constants = (arm[:, None] == np.arange(len(drawn))).astype(float)
    x = np.concatenate([x for x, _ in drawn])
    design = np.column_stack([constants, (x - x.mean(axis=0)) / x.std(axis=0)])
    return sm.OLS(np.concatenate([y for _, y in drawn]), design).fit()


def test_adjusted_means_differ_as_in_an_analysis_of_covariance() -> None:
    drawn = arms(300, 200, 150)
    moments = moments_of(drawn)
    theta, rank = pooled_slopes(moments.xx, moments.xy)
    adjusted, fit = adjust(moments.pair(theta), slopes=rank), fitted(drawn)
    assert rank == 3
    assert float(adjusted.theta) == pytest.approx(1.0, rel=1e-9)
    differences = adjusted.moments.mean[1:] - adjusted.moments.mean[0]
    np.testing.assert_allclose(differences, fit.params[1:3] - fit.params[0], rtol=1e-9)
    # Degrees of freedom: N less an arm's constant each and the three slopes.
    within = adjusted.moments.m2.sum() / (650 - 3)
    assert within == pytest.approx(fit.ssr / fit.df_resid, rel=1e-9)


@pytest.mark.parametrize("extra", ["repeated", "sum", "constant"])
def test_covariates_that_say_nothing_new_change_nothing(extra: str) -> None:
    drawn = arms(120, 90)

    def wider(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        more = {
            "repeated": -2.0 * x[:, :1],
            "sum": (x[:, 1] + x[:, 2])[:, None],
            "constant": np.full((len(x), 1), 7.0),
        }
        return np.hstack([x, more[extra]])

    plain, repeated = moments_of(drawn), moments_of([(wider(x), y) for x, y in drawn])
    once, twice = pooled_slopes(plain.xx, plain.xy), pooled_slopes(repeated.xx, repeated.xy)
    assert (once.rank, twice.rank) == (3, 3)
    one, other = adjust(plain.pair(once.theta), slopes=3), adjust(repeated.pair(twice.theta), slopes=3)
    np.testing.assert_allclose(other.moments.mean, one.moments.mean, rtol=1e-9)
    np.testing.assert_allclose(other.moments.m2, one.moments.m2, rtol=1e-7)


def test_moments_of_parts_merge_to_those_of_the_whole() -> None:
    drawn = arms(80, 70)
    whole = moments_of(drawn)
    first = moments_of([(x[:30], y[:30]) for x, y in drawn])
    rest = moments_of([(x[30:], y[30:]) for x, y in drawn])
    merged = first.merge(rest)
    for name in ("n", "mean_x", "xx", "xy"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-9)
    np.testing.assert_allclose(merged.y.m2, whole.y.m2, rtol=1e-12)


def test_no_covariate_and_no_visitor_have_no_slope() -> None:
    nothing = CovariateMoments.of([np.zeros((0, 2)), np.zeros((0, 2))], [np.zeros(0), np.zeros(0)])
    assert pooled_slopes(nothing.xx, nothing.xy).rank == 0
    assert pooled_slopes(np.zeros((2, 0, 0)), np.zeros((2, 0))).rank == 0


def test_a_covariate_that_is_one_value_in_an_arm_does_not_vary() -> None:
    """Its mean is rounded, and what that leaves is no direction to adjust in."""
    rng = np.random.default_rng(2)
    y = [rng.normal(3, 1, 100_000), rng.normal(3, 1, 70_000)]
    moments = CovariateMoments.of([np.column_stack([np.full(len(one), 3.3), one]) for one in y], y)
    assert not moments.xx[:, 0].any()
    assert not moments.xx[:, :, 0].any()
    assert not moments.xy[:, 0].any()
    assert (moments.xx[:, 1, 1] > 0).all()
    assert pooled_slopes(moments.xx, moments.xy).rank == 1
