"""Visitors who were counted in an experiment and in others."""

from collections.abc import Collection

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.visitors import result_table


def count_shared(cursor: Cursor, experiment_id: str, others: Collection[str], *, left_out: int) -> int:
    """Count the visitors of an experiment who are in one of the others, too.

    Those with a variant from `left_out` on are counted nowhere.
    """
    tables = [result_table("visitors", one) for one in others]
    counted = [
        f"SELECT visitor_key FROM {table} WHERE variant < ?"
        for table in tables
        if table_exists(cursor, table.strip('"'))
    ]
    if not counted:
        return 0
    query = f"""
        SELECT count(*) FROM {result_table("visitors", experiment_id)}
        WHERE variant < ? AND visitor_key IN ({" UNION ALL ".join(counted)})
    """
    return int(cursor.execute(query, [left_out] * (1 + len(counted))).fetchall()[0][0])
