import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.comparison.significance_level import effective_alpha
from engine.analysis.results.rounding import round_beside, round_percent


def test_a_percent_has_two_decimals_and_no_negative_zero() -> None:
    assert round_percent(118 / 1412) == 8.36
    assert math.copysign(1.0, round_percent(-1e-9)) == 1.0


@pytest.mark.parametrize(
    ("share", "threshold", "shown"),
    [
        (0.94998, 0.95, 94.99),
        (0.949994, 0.95, 94.99),
        (0.95, 0.95, 95.0),
        (0.9500049, 0.95, 95.0),
        (0.9499, 0.95, 94.99),
        (0.97499999, 0.975, 97.49),
        # Four variants: 98.3333, shown as 98.33.
        (0.983331, 1 - 0.05 / 3, 98.32),
        (0.983334, 1 - 0.05 / 3, 98.33),
        # Eight variants: 99.2857, shown as 99.29.
        (0.992856, 1 - 0.05 / 7, 99.28),
        (0.992858, 1 - 0.05 / 7, 99.29),
        # A chance to beat of no more than 5% is that of a loser.
        (0.050004, 0.95, 5.01),
        (0.05, 0.95, 5.0),
        (0.999999, 1.0, 99.99),
        (1.0, 1.0, 100.0),
        (0.0, 1.0, 0.0),
    ],
)
def test_a_score_stays_on_its_side_of_the_threshold(share: float, threshold: float, shown: float) -> None:
    assert round_beside(share, threshold) == shown


@given(st.floats(0, 1), st.integers(50, 99), st.integers(2, 20))
def test_rounded_scores_decide_as_unrounded_ones(share: float, level: int, variants: int) -> None:
    threshold = 1.0 - effective_alpha(level, variants)
    shown = round_beside(share, threshold)
    assert (shown >= round_percent(threshold)) == (share >= threshold)
    assert shown == pytest.approx(100 * share, abs=0.0101)


@given(st.integers(-30, 30), st.integers(50, 99), st.integers(2, 20))
def test_the_closest_scores_decide_as_unrounded_ones(ulps: int, level: int, variants: int) -> None:
    threshold = 1.0 - effective_alpha(level, variants)
    share = threshold + ulps * math.ulp(1.0) * 1e8
    assert (round_beside(share, threshold) >= round_percent(threshold)) == (share >= threshold)
