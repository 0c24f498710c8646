"""Bursts, addresses with many visitors, refunds above orders, dropped keys: each names the sender."""

from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence.senders import AddressCount, Overdrawn, PeakMinute, SenderEvidence
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.health.revenue_concentration import revenue_concentration
from engine.analysis.health.senders import (
    bursts,
    custom_dimension_keys,
    refunds_above_orders,
    visitors_by_address,
)
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.observations import check_input, observed

CHECKS = (bursts, visitors_by_address, refunds_above_orders, custom_dimension_keys)


def input_of(cents: float = 1_000_000, **senders: Any) -> CheckInput:
    """Build the input of an experiment whose second variant has revenue of `cents`."""
    experiment = an_experiment(goals=(a_goal(goal_type="revenue", name="Revenue"),))
    n = np.full((1, 2), 100_000.0)
    revenue = Moments(n, np.array([[0.0, cents / 100_000]]), n)
    known = SenderEvidence(**{"visitors": {"browser": 100_000}, "largest": {(0, 1): "browser"}, **senders})
    largest = np.array([[0, 600_000]])
    return check_input(
        experiment,
        observed([100_000] * 2, [5_000] * 2, cents=revenue, senders=known, largest_cents=largest),
    )


@pytest.mark.parametrize(
    ("peak", "status"),
    [
        (PeakMinute("browser", 1_000, 5.0, 20_000), "warning"),
        (PeakMinute("server", 1_000, 5.0, 20_000), "warning"),
        (PeakMinute("import", 1_000, 5.0, 20_000), "ok"),  # a file may have days only
        (PeakMinute("browser", 249, 5.0, 20_000), "ok"),
        (PeakMinute("browser", 99, 0.1, 20_000), "ok"),
        (PeakMinute("browser", 1_000, 5.0, 59), "ok"),  # nothing to compare with yet
    ],
)
def test_a_minute_is_a_burst_beside_the_average_one(peak: PeakMinute, status: str) -> None:
    found = bursts(input_of(peaks=(peak,)))
    assert found.status == status
    assert (f"sender '{peak.sender}'" in found.message) == (status == "warning")


@pytest.mark.parametrize(
    ("visitors", "status"), [(1_000, "warning"), (501, "warning"), (500, "ok"), (99, "ok")]
)
def test_many_visitors_at_one_address_are_a_warning(visitors: int, status: str) -> None:
    found = visitors_by_address(input_of(busiest_address=AddressCount("browser", visitors)))
    assert found.status == status
    assert found.details["visitors"] == visitors


def test_few_visitors_at_one_address_are_an_office() -> None:
    senders: dict[str, Any] = {"visitors": {"browser": 150}, "busiest_address": AddressCount("browser", 99)}
    assert visitors_by_address(input_of(**senders)).status == "ok"


@pytest.mark.parametrize(("lost", "status"), [(60_000, "warning"), (50_000, "ok"), (0, "ok")])
def test_refunds_above_orders_are_a_warning_beyond_5_percent(lost: int, status: str) -> None:
    overdrawn = (
        Overdrawn(0, 1, "browser", 3, -lost // 2),
        Overdrawn(0, 1, "browser and server", 1, -lost // 2),
    )
    found = refunds_above_orders(input_of(1_000_000 - lost, overdrawn=overdrawn))
    assert found.status == status
    if status == "warning":
        assert "6% of the revenue of" in found.message
        assert "sent by browser, browser and server" in found.message


def test_refunds_without_any_order_take_more_than_all_of_the_revenue() -> None:
    found = refunds_above_orders(input_of(-500, overdrawn=(Overdrawn(0, 1, "browser", 1, -500),)))
    assert "take more than all of the revenue of" in found.message
    refunds: Any = found.details["refunds"]
    assert refunds[0]["share"] is None


def test_dropped_keys_are_counted_and_named() -> None:
    found = custom_dimension_keys(input_of(dropped_attributes=12_345, dropped_key="session_9"))
    assert found.status == "warning"
    assert found.message.startswith("12,345 attributes with further keys, such as 'session_9'")
    assert custom_dimension_keys(input_of()).status == "ok"


def test_the_sender_of_the_largest_revenue_is_named() -> None:
    found: CheckResult = revenue_concentration(input_of())
    assert found.status == "warning"
    assert "(Revenue, sent by browser)" in found.message


def test_without_senders_nothing_is_checked() -> None:
    unknown = check_input(an_experiment(), observed([10, 10], [1, 1]))
    assert [check(unknown).status for check in CHECKS] == ["not_applicable"] * 4
