"""Amounts have the truth that they were asked for."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from engine.calibration.amounts import AmountsCase

# The laws of an order with a mean of 1, as SciPy knows them.
LAWS: dict[str, Any] = {
    "lognormal": stats.lognorm(1.0, scale=np.exp(-0.5)),
    "pareto": stats.pareto(2.5, scale=0.6),
}


@pytest.mark.parametrize("orders", LAWS)
@pytest.mark.parametrize("cap", [0.5, 1.0, 7.0])
def test_the_capped_mean_is_the_area_beyond_each_amount_up_to_the_cap(orders: Any, cap: float) -> None:
    area, _ = integrate.quad(LAWS[orders].sf, 0.0, cap)
    found = AmountsCase(rate=0.3, visitors=1_000, orders=orders).capped_mean(np.array([cap]))
    assert found == pytest.approx([0.3 * area], rel=1e-6)


@pytest.mark.parametrize("orders", LAWS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_quantiles_are_those_of_the_law(orders: Any, share: float) -> None:
    found = AmountsCase(rate=0.3, visitors=1_000, orders=orders).quantile(share)
    assert found == pytest.approx(LAWS[orders].ppf(share))


def test_as_many_buy_in_both_arms_and_the_variant_pays_more_each() -> None:
    case = AmountsCase(rate=0.3, visitors=1_000, orders="lognormal")
    amounts = case.draw(lift=0.5, runs=200, rng=np.random.default_rng(3)).amounts
    assert [(arm > 0).mean() for arm in amounts] == pytest.approx([0.3, 0.3], abs=0.005)
    assert [arm.mean() for arm in amounts] == pytest.approx([0.3, 0.45], rel=0.03)


def test_an_uneven_split_gives_the_variant_one_visitor_for_so_many_of_the_control() -> None:
    case = AmountsCase(rate=0.3, visitors=900, orders="pareto", uneven=9)
    amounts = case.draw(lift=0.0, runs=7, rng=np.random.default_rng(3)).amounts
    assert [arm.shape for arm in amounts] == [(7, 900), (7, 100)]


def test_amounts_of_a_shape_that_does_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="not 'normal'"):
        AmountsCase(rate=0.1, visitors=280, orders="normal")  # type: ignore[arg-type]
