"""Money in browsers' events: bounds, and refusal where only servers report it."""

import json
from typing import Any

import pytest

from engine.design.goal import Goal
from pipeline.events.browser_money import BrowserMoney
from pipeline.events.decode import RequestContext, decode_conversions, decode_tracked
from pipeline.events.project_ids import ProjectIds
from tests.builders import a_project, an_experiment
from tests.pipeline.events.event_bodies import read_body

RECEIVED = 1_772_357_400_000_000
REVENUE = Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True)
IDS = ProjectIds.of([an_experiment(goals=(REVENUE,))], a_project())


def code_of(event: dict[str, Any], *, server: bool = False, **settings: Any) -> str | None:
    """Decode an order, or with `type` a tracked event, and return the code of its result."""
    money = None if server else BrowserMoney.of(a_project(settings=settings), 100_000)
    context = RequestContext(RECEIVED, IDS, "server" if server else "browser", browser_money=money)
    body = read_body(json.dumps({"batch": [{"event_id": "e1", "visitor_id": "v1", **event}]}).encode())
    decode = decode_tracked if "type" in event else decode_conversions
    (result,) = decode(body, context).results
    return result.code


def an_order(cents: int | None, **fields: Any) -> dict[str, Any]:
    return {"event_name": "purchase", "revenue_cents": cents, **fields}


@pytest.mark.parametrize(
    ("currency", "most"),
    [("USD", 10_000_000), ("JPY", 10_000_000), ("KWD", 100_000_000), ("IDR", 100_000_000_000)],
)
def test_amounts_of_browsers_are_bounded_in_minor_units_of_each_currency(currency: str, most: int) -> None:
    # An order that no goal counts is stored, too.
    stored = None if currency == "USD" else "other_currency"
    assert code_of(an_order(most, currency=currency)) == stored
    assert code_of(an_order(most + 1, currency=currency)) == "amount_too_large"
    assert code_of(an_order(most + 1, currency=currency, kind="refund")) == "amount_too_large"
    assert code_of(an_order(most + 1, currency=currency), server=True) == stored


def test_an_amount_without_a_currency_is_in_that_of_the_project() -> None:
    assert code_of(an_order(100_000_000_000), revenue_currency="IDR") is None
    assert code_of(an_order(100_000_000_000)) == "amount_too_large"


def test_only_values_that_count_as_money_are_bounded() -> None:
    paid = {"type": "custom_event", "event_name": "purchase", "value": 100_001}
    assert code_of(paid) == "amount_too_large"
    assert code_of({**paid, "value": -100_001}) == "amount_too_large"
    assert code_of({**paid, "event_name": "milliseconds"}) is None


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (an_order(1), "untrusted_revenue"),
        (an_order(1, kind="refund"), "untrusted_revenue"),
        (an_order(0, kind="refund"), "untrusted_revenue"),
        (an_order(None), None),
        ({"type": "custom_event", "event_name": "purchase", "value": 5}, None),
    ],
)
def test_with_trusted_revenue_a_browser_reports_neither_money_nor_refunds(
    event: dict[str, Any], code: str | None
) -> None:
    assert code_of(event, trusted_revenue=True) == code
    assert code_of(event, server=True, trusted_revenue=True) is None
    assert code_of(event) is None
