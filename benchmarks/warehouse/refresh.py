"""Refresh after 10,000 new events, with 1, 10 and 50 million stored ones, against what is new.

There are two limits, in the same warehouse. The leanest SQL of a refresh that counts from events reads the
new ones, finds all events of their visitors, reads what counts of them, and writes the rows of these visitors
again. The floor is what is new alone: it reads the new events, and writes their visitors' rows again.

Every second refresh looks the events through instead of finding them in the files of their keys.
"""

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from benchmarks.warehouse.many_events import EVENTS_A_VISITOR, EXPERIMENTS, PROJECT, fill
from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from pipeline.rollup.count_and_publish import RollupScope, count_and_publish
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due
from pipeline.settings import Settings
from pipeline.store.warehouse import event_reader, published
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_ranges import newest_seq
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.incremental.event_keys import open_runs
from pipeline.store.warehouse.incremental.key_runs import KeyRun
from pipeline.store.warehouse.incremental.touched_events import TouchedEvents
from pipeline.store.warehouse.visitors import result_table
from tests.counted_work import counted_warehouse

NEW_EVENTS: Final = 10_000
ROUNDS: Final = 4


class Case(NamedTuple):
    """Stored events, experiments, and the share of the events among whose visitors some come back."""

    stored: int
    experiments: int
    identified: bool
    recent: float


class Measured(NamedTuple):
    """Processor time of a refresh, and the parts in which it finds old events and copies them, in seconds."""

    all: float
    find: float
    copy: float

    def in_ms(self) -> dict[str, int]:
        """Name the times, in milliseconds."""
        times = {"refresh, ms": self.all, "find, ms": self.find, "copy, ms": self.copy}
        return {name: round(1000 * seconds) for name, seconds in times.items()}


CASES: Final = (
    Case(1_000_000, 2, identified=False, recent=0.1),
    Case(10_000_000, 2, identified=False, recent=0.1),
    Case(10_000_000, 2, identified=False, recent=1.0),
    Case(10_000_000, 2, identified=True, recent=0.1),
    Case(50_000_000, 2, identified=False, recent=0.1),
    Case(5_000_000, 50, identified=False, recent=0.1),
    Case(1_000_000, 1_000, identified=False, recent=0.1),
)
_EVENTS: Final = f'"{table_name(PROJECT.id)}"'
# Visits of five events each, copied from stored ones: half by visitors who come back, half by new ones.
_APPEND: Final = f"""
INSERT INTO {_EVENTS} BY NAME
WITH last AS (SELECT max(seq) AS last_seq, max(occurred_at) AS last_at FROM {_EVENTS}),
drawn AS (
  SELECT last_seq - (random() * {{among}})::BIGINT AS seq FROM last, range({NEW_EVENTS // EVENTS_A_VISITOR})
),
copied AS (
  SELECT e.*, last_seq, last_at, row_number() OVER () AS place, hash(e.visitor_key, last_seq) AS fresh
  FROM {_EVENTS} e, last
  WHERE e.visitor_key IN (SELECT visitor_key FROM {_EVENTS} SEMI JOIN drawn USING (seq))
  LIMIT {NEW_EVENTS}
)
SELECT * EXCLUDE (last_seq, last_at, place, fresh) REPLACE (
  last_seq + place AS seq, 'n' || (last_seq + place) AS event_id, hash(last_seq + place, 5) AS event_key,
  last_at + place AS occurred_at, last_at + place AS received_at,
  if(fresh % 2 = 0, 'n' || fresh, visitor_id) AS visitor_id,
  if(fresh % 2 = 0, fresh, visitor_key) AS visitor_key,
  if(transaction_key IS NULL, NULL, hash(transaction_key, last_seq)) AS transaction_key
) FROM copied
"""
# What visitor rows of EXPERIMENTS are made of, beside the segments of new visitors.
_COUNTED: Final = (
    "seq, occurred_at, event_key, type, visitor_key, user_key, experiment_id, variant_id, url, event_name, "
    "revenue_cents, transaction_key, is_refund, is_bot"
)
_NEW: Final = (
    f"""CREATE OR REPLACE TEMP TABLE new_events AS
    SELECT {_COUNTED} FROM {_EVENTS} WHERE seq > {{covered}}""",
    "CREATE OR REPLACE TEMP TABLE new_visitors AS SELECT DISTINCT visitor_key FROM new_events",
)
_FIND: Final = (
    f"""CREATE OR REPLACE TEMP TABLE their_seqs AS
    SELECT seq FROM {_EVENTS} SEMI JOIN new_visitors USING (visitor_key) WHERE seq <= {{covered}}""",
    f"""CREATE OR REPLACE TEMP TABLE their_events AS
    SELECT {_COUNTED} FROM {_EVENTS} WHERE seq IN (FROM their_seqs)""",
)
_WRITE: Final = (
    "CREATE OR REPLACE TEMP TABLE their_rows AS FROM {rows} SEMI JOIN new_visitors USING (visitor_key)",
    "DELETE FROM {rows} WHERE visitor_key IN (FROM new_visitors)",
    "INSERT INTO {rows} FROM their_rows",
)


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Measure each case in a warehouse of its own; the first is what the others have grown from."""
    rows = [_compare(case._replace(stored=int(case.stored * scale))) for case in CASES]
    for row in rows:
        row["growth"] = f"{row['refresh, ms'] / rows[0]['refresh, ms']:.2f}"
    return rows


def _compare(case: Case) -> dict[str, Any]:
    experiments: Sequence[Experiment] = EXPERIMENTS
    if case.experiments != len(EXPERIMENTS):
        experiments = [_copy(number) for number in range(case.experiments)]
    with tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder:
        fill(Path(folder), case.stored, identified=case.identified)
        warehouse = Warehouse.open(Settings(data_dir=Path(folder)))
        if experiments is not EXPERIMENTS:
            _spread(warehouse, case.experiments)
        with warehouse.cursor() as cursor:
            published.create_tables(cursor)
        refresh(warehouse, experiments)
        warehouse.checkpoint()
        floors, limits = [], []
        refreshes: list[Measured] = []
        scans: list[Measured] = []
        for number in range(2 * ROUNDS):
            covered = newest_seq(warehouse, PROJECT.id) or 0
            append(warehouse, among=int(case.stored * case.recent))
            floors.append(_timed(partial(write_lean, warehouse, experiments, covered, _NEW)))
            limits.append(_timed(partial(write_lean, warehouse, experiments, covered, (*_NEW, *_FIND))))
            (scans if number % 2 else refreshes).append(
                _measured(partial(refresh, warehouse, experiments), by_scan=bool(number % 2))
            )
        append(warehouse, among=int(case.stored * case.recent))
        with counted_warehouse(warehouse) as work:
            refresh(warehouse, experiments)
        warehouse.close()
    # The first round fills caches.
    floor, limit, ours, scan = min(floors[1:]), min(limits[1:]), min(refreshes[1:]), min(scans[1:])
    return {
        "stored": f"{case.stored / 1e6:g} million" + (", with user ids" if case.identified else ""),
        "back from": f"the last {case.recent:.0%}" if case.recent < 1 else "any day",
        "experiments": case.experiments,
        **ours.in_ms(),
        **{f"{name} by scans": value for name, value in scan.in_ms().items()},
        "limit": f"{1000 * limit:.0f} ms",
        "floor": f"{1000 * floor:.0f} ms",
        "refresh / limit": f"{ours.all / limit:.2f}",
        "refresh / floor": f"{ours.all / floor:.2f}",
        "rows read": f"{work.rows_scanned:,}",
        "statements": work.statements,
    }


def append(warehouse: Warehouse, *, among: int) -> None:
    """Add NEW_EVENTS, some of visitors who had one of the last `among` events."""
    with warehouse.transaction() as cursor:
        cursor.execute(_APPEND.format(among=among))


def refresh(warehouse: Warehouse, experiments: Sequence[Experiment], *, anew: bool = False) -> None:
    """Bring results up to date, or count them anew, by the function that the service uses."""
    rules = CountingRules.of(PROJECT)
    with warehouse.cursor() as cursor:
        befores = {} if anew else published.find_all(cursor, [one.id for one in experiments])
    due = [Due(experiment=one, rules=rules, before=befores.get(one.id)) for one in experiments]
    newest = newest_seq(warehouse, PROJECT.id) or 0
    at_once = Settings().rollup_bucket_events
    count_and_publish(
        warehouse, due, RollupScope(project_id=PROJECT.id, newest_seq=newest, now=utc_now(), at_once=at_once)
    )


def write_lean(
    warehouse: Warehouse, experiments: Sequence[Experiment], covered: int, statements: Sequence[str]
) -> None:
    """Read with `statements` the events after `covered`, and write their visitors' rows again."""
    with warehouse.transaction() as cursor:
        for statement in statements:
            cursor.execute(statement.format(covered=covered))
        for one in experiments:
            for statement in _WRITE:
                cursor.execute(statement.format(rows=result_table("visitors", one.id)))


def _timed(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _measured(work: Callable[[], None], *, by_scan: bool) -> Measured:
    """Measure a refresh, and in it the search for events and their copy."""
    spent: dict[str, float] = defaultdict(float)

    def adding(name: str) -> Callable[..., object]:
        added = getattr(TouchedEvents, name)

        def add(*arguments: object) -> object:
            started = time.process_time()
            try:
                return added(*arguments)
            finally:
                spent[name] += time.process_time() - started

        return add

    with (
        patch.object(TouchedEvents, "_find", adding("_find")),
        patch.object(TouchedEvents, "_copy", adding("_copy")),
        patch.object(event_reader, "open_runs", _no_runs if by_scan else open_runs),
    ):
        return Measured(_timed(work), spent["_find"], spent["_copy"])


def _no_runs(*_: object) -> Sequence[KeyRun]:
    return ()


def _copy(number: int) -> Experiment:
    """Copy the first experiment, with goals of its own."""
    first = EXPERIMENTS[0]
    goals = tuple(replace(goal, id=f"{goal.id}_{number}") for goal in first.goals)
    return replace(first, id=f"exp_{number}", test_key=f"experiment-{number}", salt=str(number), goals=goals)


def _spread(warehouse: Warehouse, experiments: int) -> None:
    """Spread the visitors over copies of the first experiment."""
    with warehouse.transaction() as cursor:
        cursor.execute(
            f"""
            UPDATE {_EVENTS} SET experiment_id = 'exp_' || hash(visitor_key, 3) % {experiments:d},
              variant_id = 'var_a' || hash(visitor_key, 4) % 2 WHERE type = 'exposure'
            """
        )


if __name__ == "__main__":
    for row in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(row)
