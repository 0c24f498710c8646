"""Currencies of the orders of an experiment's visitors, by the goal that they are of."""

from collections.abc import Collection
from typing import Final

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.visitors import result_table

# Orders after the first exposure, by the visitor or the user who has one; LEFT_OUT visitors have none.
_ORDERS: Final = """
    WITH orders AS (
        SELECT event_key, visitor_key, user_key, occurred_at, currency FROM {events}
        WHERE (type = 'conversion' OR revenue_cents IS NOT NULL) AND NOT is_refund AND {currencies}
            AND (goal_id = ? OR (goal_id IS NULL AND event_name = ?))
            AND received_at BETWEEN ? AND ? AND seq <= ?
    ), exposed AS (SELECT visitor_key, first_exposed_at FROM {visitors} WHERE variant < ?)
    SELECT currency, count(DISTINCT event_key) FROM (
        SELECT o.* FROM orders o JOIN exposed x ON x.visitor_key = o.visitor_key
            AND o.occurred_at >= x.first_exposed_at
        UNION ALL
        SELECT o.* FROM orders o JOIN exposed x ON x.visitor_key = o.user_key
            AND o.user_key <> o.visitor_key AND o.occurred_at >= x.first_exposed_at
    ) GROUP BY currency ORDER BY ALL
"""


def count_orders(  # noqa: PLR0913  # what selects the orders of a goal
    cursor: Cursor,
    project_id: str,
    experiment_id: str,
    *,
    goal_id: str,
    event_name: str,
    received: tuple[int, int],
    until: int,
    left_out: int,
    except_in: Collection[str] = (),
) -> dict[str | None, int]:
    """Count the orders of a goal by currency, None where they name none, up to the event number `until`.

    `received` are the first and last microsecond of receipt. Visitors with a variant's number from `left_out`
    on are not counted, nor orders in a currency of `except_in`, nor then those without one.
    """
    if not has_table(cursor, project_id):
        return {}
    places = ", ".join("?" for _ in except_in)
    query = _ORDERS.format(
        events=f'"{table_name(project_id)}"',
        visitors=result_table("visitors", experiment_id),
        currencies=f"currency NOT IN ({places})" if except_in else "true",
    )
    values = [*except_in, goal_id, event_name, *received, until, left_out]
    return dict(cursor.execute(query, values).fetchall())
