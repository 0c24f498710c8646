"""Shares as percents."""

import math
from dataclasses import dataclass

from api.schemas.percents import in_percents, percent


@dataclass
class Result:
    """A result with a share and a count."""

    conversion_rate: float
    score_progress: float | None
    visitors: int


def test_a_share_is_a_percent_of_two_decimals() -> None:
    assert percent(118 / 1412) == 8.36
    assert percent(None) is None


def test_no_percent_is_a_negative_zero() -> None:
    assert math.copysign(1.0, percent(-1e-9)) == 1.0


def test_only_shares_of_a_result_become_percents() -> None:
    fields = in_percents(Result(conversion_rate=0.1, score_progress=None, visitors=7))
    assert (fields["conversion_rate"], fields["visitors"]) == (10.0, 7)
    assert fields["score_progress_percentage"] is None


def test_a_score_is_not_rounded_onto_a_threshold_that_it_misses() -> None:
    missed = in_percents(Result(conversion_rate=0.94998, score_progress=0.94998 / 0.95, visitors=7), 0.95)
    assert (missed["conversion_rate"], missed["score_progress_percentage"]) == (95.0, 99.99)
    reached = in_percents(Result(conversion_rate=0.1, score_progress=1.0, visitors=7), 0.95)
    assert reached["score_progress_percentage"] == 100.0
