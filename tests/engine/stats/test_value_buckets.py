import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stats.value_buckets import bucket_of, count_values, value_of
from tests.examples import examples

NUMBERS = st.floats(-1e40, 1e40).filter(lambda x: x == 0 or abs(x) > 1e-40)


@examples(100, 1_000)
@given(NUMBERS)
def test_a_bucket_stands_for_its_values_within_half_a_percent(value: float) -> None:
    assert value_of(bucket_of([value]))[0] == pytest.approx(value, rel=0.00501)


def test_whole_numbers_below_100_are_exact() -> None:
    whole = np.arange(-99.0, 100.0)
    assert (value_of(bucket_of(whole)) == whole).all()


def test_zeros_and_negatives_are_apart() -> None:
    assert len(set(bucket_of([-0.001, -0.0, 0.001]).tolist())) == 3
    assert bucket_of(-0.0) == bucket_of(0.0)


def test_values_of_ten_powers_of_ten_need_some_two_thousand_buckets() -> None:
    values = np.geomspace(1.5e-4, 1.5e6, 100_000)
    # ln(1e10) / ln(1.01) = 2,314.
    assert len(np.unique(bucket_of(values))) == pytest.approx(2_314, abs=2)


def test_quantiles_of_buckets_are_within_half_a_percent() -> None:
    values = np.random.default_rng(4).lognormal(3.0, 1.5, 5_000)
    found = count_values(values).quantiles([0.1, 0.5, 0.99])
    expected = np.quantile(values, [0.1, 0.5, 0.99], method="median_unbiased")
    assert found == pytest.approx(expected, rel=0.0051)


def test_values_of_a_bucket_err_as_even_ones_within_it() -> None:
    values = np.random.default_rng(1).uniform(500.0, 505.0, 4_000)
    arm = count_values(np.append(values, [0.0, 7.0]))
    exact, wide = arm.values < 100, arm.values > 500
    assert (arm.rounding[exact] == 0).all()
    # The standard deviation of a range is its length over the root of 12.
    assert arm.rounding[wide] == pytest.approx(0.01 * arm.values[wide] / 12**0.5)
