"""One visitor's share of the revenue."""

from typing import Any

import numpy as np
import pytest

from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.revenue_concentration import revenue_concentration
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.observations import check_input, observed


def found(largest: int, paying: int, *, total: int = 1_000_000, **config: Any) -> CheckResult:
    """Check two variants, of which the second has a visitor with `largest` of its `total` cents."""
    experiment = an_experiment(goals=(a_goal(goal_type="revenue", name="Revenue", config=config),))
    n = np.full((1, 2), 100_000.0)
    cents = Moments(n, np.full((1, 2), total / 100_000), n)
    evidence = observed(
        [100_000] * 2, [paying] * 2, cents=cents, largest_cents=np.array([[total // 100, largest]])
    )
    return revenue_concentration(check_input(experiment, evidence))


@pytest.mark.parametrize(
    ("largest", "paying", "status"),
    [
        (60_000, 5_000, "warning"),
        (50_000, 5_000, "ok"),  # 5%, and not more
        (60_000, 500, "warning"),
        (200_000, 100, "ok"),  # 20 times the average of 100
        (260_000, 100, "warning"),
        (900_000, 20, "ok"),  # too few paying visitors
        (0, 0, "ok"),
    ],
)
def test_a_share_is_unusual_beyond_5_percent_and_25_times_the_average(
    largest: int, paying: int, status: str
) -> None:
    assert found(largest, paying).status == status


def test_the_warning_names_goal_and_variant() -> None:
    check = found(123_000, 5_000)
    assert check.message.startswith("One visitor has 12.3% of the revenue of 'Treatment 1' (Revenue): ")
    assert check.details == {"shares": {"Revenue": {"Treatment 1": pytest.approx(0.123)}}}


def test_capped_revenue_and_conversions_have_nothing_to_check() -> None:
    assert found(900_000, 5_000, cap_percentile=99).status == "not_applicable"
    evidence = observed([100, 100], [9, 9], largest_cents=np.zeros((1, 2), np.int64))
    assert revenue_concentration(check_input(an_experiment(), evidence)).status == "not_applicable"
    experiment = an_experiment(goals=(a_goal(goal_type="revenue", config={}),))
    unknown = observed([100, 100], [9, 9])
    assert revenue_concentration(check_input(experiment, unknown)).status == "not_applicable"


def test_refunds_beyond_the_revenue_are_no_share() -> None:
    assert found(5_000, 5_000, total=-100_000).status == "ok"


@pytest.mark.parametrize("paying", [40, 200, 1_000, 5_000])
def test_ordinary_lognormal_revenue_is_not_concentrated(paying: int) -> None:
    rng = np.random.default_rng(9)
    warned = 0
    for amounts in rng.lognormal(8.0, 1.0, (300, paying)):
        warned += found(int(amounts.max()), paying, total=int(amounts.sum())).status == "warning"
    assert warned <= 9  # 3%
