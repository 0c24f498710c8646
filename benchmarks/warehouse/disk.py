"""Disk of a million events with UUID ids, rolled up for two experiments, against Parquet of the same rows.

Event and visitor ids are UUIDs in lower case, as sites send them, and some events tell the user. The events
are appended in the order of their times, a few thousand at once. The peer is the smallest file that a tool
writes of the same columns in the same order: Parquet with dictionaries, compressed by Zstandard at level 9.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.warehouse.many_events import PROJECT, fill
from benchmarks.warehouse.rollup import rollup
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame

AT_ONCE: Final = 5_000
_TABLE: Final = events.table_name(PROJECT.id)
# A digest of an id has the digits of a UUID.
_AS_SENT: Final = f"""
SELECT * EXCLUDE (seq) REPLACE (
  md5(event_id)::UUID::VARCHAR AS event_id, md5(visitor_id)::UUID::VARCHAR AS visitor_id,
  occurred_at + hash(seq) % 300000 AS received_at, 'browser' AS sender, 31 AS header_fields,
  if(user_id IS NULL, 'anonymous', 'identified') AS visitor_identity
) FROM "{_TABLE}" ORDER BY received_at
"""
_PARQUET: Final = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 9"
# Bytes of each column, from the places of its segments in their blocks.
_BYTES: Final = """
WITH segments AS (
  SELECT column_name, lead(block_offset, 1, 262136) OVER (PARTITION BY block_id ORDER BY block_offset)
    - block_offset + 262144 * len(additional_block_ids) AS bytes
  FROM pragma_storage_info('{table}') WHERE persistent AND block_id >= 0
)
SELECT column_name, sum(bytes)::BIGINT AS bytes FROM segments GROUP BY ALL ORDER BY bytes DESC
"""


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Measure the files of a million events at scale 1, and the largest columns of the events."""
    count = int(1_000_000 * scale)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "ids", count, identified=True)
        warehouse = _with_uuids(folder / "ids", folder / "uuids")
        warehouse.checkpoint()
        size = warehouse.path.stat().st_size
        rollup(warehouse)
        warehouse.checkpoint()
        counted = warehouse.path.stat().st_size - size
        with warehouse.cursor() as cursor:
            columns = cursor.execute(_BYTES.format(table=_TABLE)).fetchall()
            bare = _parquet(cursor, folder / "parquet")
        warehouse.close()
    rows = [("events", size, bare[0]), ("rows of visitors, orders, sums", counted, bare[1])]
    rows.append(("together", size + counted, sum(bare)))
    return [_row(what, ours, limit, count) for what, ours, limit in rows] + [
        _row(f"column {name}", ours, None, count) for name, ours in columns[:12]
    ]


def _row(what: str, ours: int, limit: int | None, count: int) -> dict[str, Any]:
    return {
        "what": what,
        "MB per million events": f"{ours / count:.1f}",
        "Parquet": f"{limit / count:.1f}" if limit else "",
        "ratio": f"{ours / limit:.2f}" if limit else "",
    }


def _with_uuids(origin: Path, folder: Path) -> Warehouse:
    """Append the events of a warehouse to a new one in the order of their times."""
    source = Warehouse.open(Settings(data_dir=origin))
    with source.cursor() as cursor:
        sent = fetch_frame(cursor, _AS_SENT)
    source.close()
    warehouse = Warehouse.open(Settings(data_dir=folder))
    for first in range(0, sent.height, AT_ONCE):
        with warehouse.transaction() as cursor:
            events.create_table(cursor, PROJECT.id)
            batch = sent.slice(first, AT_ONCE).cast(events.EVENT_SCHEMA)
            events.append(cursor, PROJECT.id, events.number_events(batch, first + 1))
    return warehouse


def _parquet(cursor: Cursor, folder: Path) -> tuple[int, int]:
    """Write the tables as Parquet; return the bytes of events, and of all others."""
    folder.mkdir()
    tables = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE NOT temporary").fetchall()
    for (table,) in tables:
        cursor.execute(f"COPY \"{table}\" TO '{folder / table}.parquet' ({_PARQUET})")
    sizes = {path.stem: path.stat().st_size for path in folder.iterdir()}
    return sizes[_TABLE], sum(sizes.values()) - sizes[_TABLE]


if __name__ == "__main__":
    for line in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(line)
