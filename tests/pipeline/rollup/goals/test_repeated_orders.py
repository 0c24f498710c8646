import polars as pl
import pytest

from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.goals.repeated_orders import find_repeated_orders
from pipeline.store.warehouse.events import SENDER_BITS
from tests.builders import a_project

NO_FACTORS = CountingRules.of(a_project()).factors
RULES = pl.DataFrame(
    {
        "match": [0, 0],
        "rule": [0, 1],
        "is_revenue": [True, False],
        "takes_value": [True, False],
        "goal_currency": ["USD", "USD"],
        "min_cents": [200, 0],
        "max_cents": [9_000, 9_000],
        "trusts_servers_only": [False, False],
    }
)


def repeated(*orders: tuple[int, str, int, bool]) -> set[tuple[int, int]]:
    """Find the pairs of rule and `seq` that do not count; an order is `seq`, sender, cents, is a refund."""
    rows = pl.DataFrame(
        [
            (0, 9, seq, 77, SENDER_BITS[sender], cents, "USD", is_refund, False)
            for seq, sender, cents, is_refund in orders
        ],
        schema={
            "match": pl.Int64,
            "visitor_key": pl.UInt64,
            "seq": pl.Int64,
            "transaction_key": pl.UInt64,
            "sender": pl.UInt8,
            "cents": pl.Int64,
            "currency": pl.String,
            "is_refund": pl.Boolean,
            "is_value": pl.Boolean,
        },
        orient="row",
    )
    return set(find_repeated_orders(rows, RULES, NO_FACTORS).select("rule", "seq").iter_rows())


def test_of_equal_orders_the_first_counts() -> None:
    assert repeated((5, "browser", 500, False), (4, "browser", 500, False)) == {(0, 5), (1, 5)}


def test_an_order_out_of_bounds_is_not_the_first_of_a_revenue_goal() -> None:
    assert repeated((4, "browser", 100, False), (5, "browser", 500, False)) == {(1, 5)}


@pytest.mark.parametrize("sender", ["server", "import"])
def test_a_browsers_order_gives_way_to_a_trusted_one_however_late(sender: str) -> None:
    assert repeated((4, "browser", 500, False), (9, sender, 500, False)) == {(0, 4), (1, 4)}


def test_refunds_count_beside_orders_and_a_browsers_only_without_a_servers() -> None:
    assert repeated((4, "browser", 500, False), (5, "browser", 500, True)) == set()
    assert repeated((4, "server", 500, False), (5, "server", 500, True)) == set()
    assert repeated((4, "server", 500, False), (5, "browser", 500, True)) == {(0, 5), (1, 5)}
    assert repeated((4, "browser", 500, False), (5, "server", 500, True)) == set()
