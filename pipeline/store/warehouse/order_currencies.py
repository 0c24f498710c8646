"""Currencies of the orders of an experiment's visitors, by the goal that they are of."""

from collections.abc import Collection
from typing import Final, NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.visitors import result_table

# Orders after the first exposure, by the visitor or the user who has one; LEFT_OUT visitors have none.
_ORDERS: Final = """
    WITH orders AS (
        SELECT event_key, visitor_key, user_key, occurred_at, currency FROM {orders}
            AND (goal_id = ? OR (goal_id IS NULL AND event_name = ?))
    ), exposed AS (SELECT visitor_key, first_exposed_at FROM {visitors} WHERE variant < ?)
    SELECT currency, count(DISTINCT event_key) FROM (
        SELECT o.* FROM orders o JOIN exposed x ON x.visitor_key = o.visitor_key
            AND o.occurred_at >= x.first_exposed_at
        UNION ALL
        SELECT o.* FROM orders o JOIN exposed x ON x.visitor_key = o.user_key
            AND o.user_key <> o.visitor_key AND o.occurred_at >= x.first_exposed_at
    ) GROUP BY currency ORDER BY ALL
"""


class Orders(NamedTuple):
    """Orders of a project, up to the event number `until`, received within two microseconds.

    With `except_in`, neither those in one of these currencies nor those without one.
    """

    project_id: str
    received: tuple[int, int]
    until: int
    except_in: Collection[str] = ()

    @property
    def query(self) -> str:
        """The end of a query of them, from their table on; it takes the `values`."""
        places = ", ".join("?" for _ in self.except_in)
        return f"""
            "{table_name(self.project_id)}"
            WHERE (type = 'conversion' OR revenue_cents IS NOT NULL) AND NOT is_refund
            AND received_at BETWEEN ? AND ? AND seq <= ?
            AND {f"currency NOT IN ({places})" if places else "true"}
        """

    @property
    def values(self) -> list[object]:
        """Values of the query's parameters."""
        return [*self.received, self.until, *self.except_in]


def find_currencies(cursor: Cursor, orders: Orders) -> set[tuple[str | None, str | None, str | None]]:
    """Find the goal ids, event names and currencies of orders, of all visitors of the project."""
    if not has_table(cursor, orders.project_id):
        return set()
    query = f"SELECT DISTINCT goal_id, event_name, currency FROM {orders.query}"
    return set(cursor.execute(query, orders.values).fetchall())


def count_orders(  # noqa: PLR0913  # the rest is said by name
    cursor: Cursor, orders: Orders, *, experiment_id: str, goal_id: str, event_name: str, left_out: int
) -> dict[str | None, int]:
    """Count the orders of a goal by currency, None where they name none.

    Visitors with a variant's number from `left_out` on are not counted.
    """
    query = _ORDERS.format(orders=orders.query, visitors=result_table("visitors", experiment_id))
    return dict(cursor.execute(query, [*orders.values, goal_id, event_name, left_out]).fetchall())
