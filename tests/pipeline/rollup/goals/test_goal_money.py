import polars as pl
import pytest

from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.goals.goal_money import count_money
from pipeline.store.warehouse.events import SENDER_BITS
from tests.builders import a_project

NO_FACTORS = CountingRules.of(a_project()).factors
HIT = {
    "cents": 500,
    "currency": "USD",
    "is_refund": False,
    "is_value": False,
    "sender": SENDER_BITS["server"],
}
GOAL = {
    "is_revenue": True,
    "takes_value": True,
    "goal_currency": "USD",
    "min_cents": 200,
    "max_cents": 900,
    "trusts_servers_only": False,
}


@pytest.mark.parametrize(
    ("cents", "currency", "counted"),
    [
        (500, "EUR", [625]),
        (-500, "EUR", [625]),
        # 312.5 and 313.75: half to even.
        (250, "EUR", [312]),
        (251, "EUR", [314]),
        # 800 are 1,000 cents, beyond the bounds of the goal.
        (800, "EUR", []),
        (500, "SEK", []),
        (500, "USD", [500]),
        (500, None, [500]),
        (10**15, "EUR", []),
    ],
)
def test_an_order_with_a_rate_counts_in_the_goals_currency(
    cents: int, currency: str | None, counted: list[int]
) -> None:
    factors = CountingRules.of(a_project(settings={"exchange_rates": {"EUR": 1.25}})).factors
    row = {**HIT, **GOAL, "cents": cents, "currency": currency}
    rows = pl.DataFrame([row], schema_overrides={"currency": pl.String})
    assert count_money(rows.lazy(), factors).collect()["cents"].to_list() == counted


@pytest.mark.parametrize(
    ("hit", "goal", "counted"),
    [
        ({}, {}, [500]),
        ({"is_refund": True}, {}, [-500]),
        ({"cents": -500}, {}, [500]),
        ({"cents": 100}, {}, []),
        ({"cents": 100}, {"is_revenue": False}, [100]),
        ({"currency": "EUR"}, {}, []),
        ({"currency": "EUR"}, {"is_revenue": False}, [0]),
        ({"currency": None}, {}, [500]),
        ({"is_value": True}, {"is_revenue": False, "takes_value": False}, [0]),
        ({"sender": SENDER_BITS["browser"]}, {"trusts_servers_only": True}, []),
        ({"sender": SENDER_BITS["browser"]}, {"trusts_servers_only": True, "is_revenue": False}, [0]),
    ],
)
def test_a_goal_counts_its_currency_within_its_bounds(
    hit: dict[str, object], goal: dict[str, object], counted: list[int]
) -> None:
    rows = pl.DataFrame([{**HIT, **GOAL, **hit, **goal}], schema_overrides={"currency": pl.String})
    assert count_money(rows.lazy(), NO_FACTORS).collect()["cents"].to_list() == counted
