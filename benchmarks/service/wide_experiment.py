"""Count and reads of an experiment of 50 goals, 20 variants and 40 segment values over a year.

Processor time, the least of some reads with nothing kept, beside a floor: DuckDB groups the events, or adds
up the stored sums, and msgspec encodes the JSON of the answer.
"""

import gzip
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from rich import print as show

from benchmarks.warehouse.many_events import PROJECT
from tests.wide_experiment import PAGE, VIEWS, Site, Width, a_wide_site

WIDTH: Final = Width(goals=50, variants=20, values=40, days=365, visitors=20_000)
ROUNDS: Final = int(os.environ.get("BENCH_WIDE_ROUNDS", "3"))
NAME: Final = "exp_wide"
_GROUP: Final = """
SELECT shown.variant_id, events.event_name, events.region, events.occurred_at // 86400000000 AS day, count(*)
FROM "events_{project}" AS events
JOIN "events_{project}" AS shown ON shown.visitor_key = events.visitor_key AND shown.type = 'exposure'
GROUP BY ALL
"""
_ADD_UP: Final = """
SELECT goal, variant, day, sum(visitors), sum(conversions), sum(total) FROM "aggregates_{name}"
WHERE dimension = '' GROUP BY ALL
"""
_ADD_UP_SEGMENTS: Final = """
SELECT goal, variant, dimension, "value", sum(visitors), sum(conversions), sum(total) FROM "aggregates_{name}"
GROUP BY ALL
"""


def run(width: Width = WIDTH) -> list[dict[str, Any]]:
    """Measure the count of all events, and each view of the results."""
    with (
        tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder,
        a_wide_site(Path(folder), **{NAME: width}) as site,
    ):
        counted = _processor_time(site.count)
        floor = _least(lambda: _fetch(site, _GROUP.format(project=PROJECT.id)))
        rows = [_row(f"count of {width.events:,} events, {site.sums(NAME):,} sums", counted, floor)]
        return [*rows, *(_read(site, view, width) for view in VIEWS)]


def _read(site: Site, view: str, width: Width) -> dict[str, Any]:
    content = site.read(NAME, view)
    answer = None if view == PAGE else msgspec.json.decode(content)
    query = (_ADD_UP_SEGMENTS if view == "/segments" else _ADD_UP).format(name=NAME)
    floor = _least(lambda: (_fetch(site, query), msgspec.json.encode(answer)))
    return _row(
        view if view == PAGE else f"results{view}",
        _least(lambda: site.read(NAME, view)),
        floor,
        kB=f"{len(content) / 1000:,.0f}",
        compressed=f"{len(gzip.compress(content, 6)) / 1000:,.0f}",
        bound=f"{VIEWS[view].of(width) / 1000:,.0f}",
    )


def _row(what: str, ours: float, floor: float, **sizes: str) -> dict[str, Any]:
    return {
        "what": what,
        "processor time": f"{ours:.2f} s",
        "floor": f"{floor:.2f} s",
        "ratio": f"{ours / floor:.1f}",
        "kB": sizes.get("kB", ""),
        "kB compressed": sizes.get("compressed", ""),
        "kB at most": sizes.get("bound", ""),
    }


def _fetch(site: Site, query: str) -> object:
    with site.services.warehouse.cursor() as cursor:
        return cursor.execute(query).fetchall()


def _least(work: Callable[[], object]) -> float:
    return min(_processor_time(work) for _ in range(ROUNDS))


def _processor_time(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    for line in run():
        show(line)
