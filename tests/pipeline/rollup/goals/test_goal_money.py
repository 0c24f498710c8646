import polars as pl
import pytest

from pipeline.rollup.goals.goal_money import count_money
from pipeline.store.warehouse.events import SENDER_BITS

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
    assert count_money(rows.lazy()).collect()["cents"].to_list() == counted
