"""Growth of costs: counted work of operations at many stored events, and at ten times as many.

The sizes are BENCH_GROWTH_EVENTS and ten times that. Every operation counts its work once, after it was done
once; a cost that follows what is new is the same in both columns.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.growth import Work, a_site, measure_all

EVENTS: Final = int(os.environ.get("BENCH_GROWTH_EVENTS", "1_000_000"))
TIMES: Final = 10
EXPERIMENTS: Final = 5


def run(events: int = EVENTS) -> list[dict[str, Any]]:
    """Measure each operation on two services."""
    few, many = (dict(_measured(stored)) for stored in (events, TIMES * events))
    return [
        {
            "what": name,
            f"rows read, {events:,} events": f"{small.rows_scanned:,}",
            f"{TIMES * events:,} events": f"{large.rows_scanned:,}",
            "times": f"{large.rows_scanned / max(small.rows_scanned, 1):.1f}",
            "statements": f"{small.statements} → {large.statements}",
            "bytes written": f"{small.bytes_written:,} → {large.bytes_written:,}",
            "processor time": f"{1000 * before:.0f} → {1000 * after:.0f} ms",
        }
        for (name, (small, before)), (large, after) in zip(few.items(), many.values(), strict=True)
    ]


def _measured(stored: int) -> Iterator[tuple[str, tuple[Work, float]]]:
    with (
        tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder,
        a_site(Path(folder), stored=stored, experiments=EXPERIMENTS) as site,
    ):
        for operation, work in measure_all(site).items():
            operation.before(site)
            begun = time.process_time()
            operation.run(site)
            yield operation.name, (work, time.process_time() - begun)


if __name__ == "__main__":
    for row in run():
        print(row)
