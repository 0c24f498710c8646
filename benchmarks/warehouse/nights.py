"""Night after a day's events, with 1 and 10 million stored ones, against a full count and a floor.

The floor is what no night can do without: it reads each column that counts of all stored events once, as SQL.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.warehouse.many_events import EXPERIMENTS, PROJECT, fill
from benchmarks.warehouse.refresh import NEW_EVENTS, append, refresh
from pipeline.clock import utc_now
from pipeline.rollup.count_and_publish import RollupScope
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due
from pipeline.rollup.nightly_check import NightlyCheck
from pipeline.settings import Settings
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_ranges import newest_seq
from pipeline.store.warehouse.events import COUNTED_COLUMNS, table_name

STORED: Final = (1_000_000, 10_000_000)
NIGHTS: Final = 3
_FLOOR: Final = f"""
    SELECT count(*), max(COLUMNS(*)) FROM (SELECT {COUNTED_COLUMNS} FROM "{table_name(PROJECT.id)}" e)
"""


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Measure each size in a warehouse of its own."""
    return [_compare(int(stored * scale)) for stored in STORED]


def _compare(stored: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder:
        fill(Path(folder), stored)
        warehouse = Warehouse.open(Settings(data_dir=Path(folder)))
        with warehouse.cursor() as cursor:
            published.create_tables(cursor)
        whole = _timed(partial(_night, warehouse, is_whole=True))
        warehouse.checkpoint()
        nights = []
        for _ in range(NIGHTS):
            append(warehouse, among=stored // 10)
            nights.append(_timed(partial(_night, warehouse, is_whole=False)))
        floor = min(_timed(partial(_read, warehouse)) for _ in range(NIGHTS))
        whole = min(whole, *(_timed(partial(_night, warehouse, is_whole=True)) for _ in range(NIGHTS - 1)))
        warehouse.close()
    light = min(nights)
    return {
        "stored": f"{stored / 1e6:g} million",
        "new": f"{NEW_EVENTS:,}",
        "night, processor time": f"{light:.2f} s",
        "full count": f"{whole:.2f} s",
        "floor": f"{floor:.2f} s",
        "night / full count": f"{light / whole:.2f}",
        "night / floor": f"{light / floor:.2f}",
    }


def _night(warehouse: Warehouse, *, is_whole: bool) -> None:
    """Refresh, and check or count all, by the functions that the service uses."""
    refresh(warehouse, EXPERIMENTS)
    rules = CountingRules.of(PROJECT)
    with warehouse.cursor() as cursor:
        befores = published.find_all(cursor, [one.id for one in EXPERIMENTS])
    open_ones = [Due(experiment=one, rules=rules, before=befores[one.id]) for one in EXPERIMENTS]
    scope = RollupScope(
        project_id=PROJECT.id,
        newest_seq=newest_seq(warehouse, PROJECT.id) or 0,
        now=utc_now(),
        at_once=Settings().rollup_bucket_events,
    )
    check = NightlyCheck(warehouse, PROJECT, scope)
    found = check.find(open_ones, is_asked=is_whole)
    if is_whole:
        refresh(warehouse, EXPERIMENTS, anew=True)
        check.note_whole()
    elif found is not None:
        raise RuntimeError(f"the night counts everything: {found}")
    else:
        check.note_passed(open_ones)


def _read(warehouse: Warehouse) -> None:
    with warehouse.cursor() as cursor:
        cursor.execute(_FLOOR).fetchall()


def _timed(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    for row in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(row)
