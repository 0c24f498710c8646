"""Jobs of a minute in a project of 1,000 running experiments, of which 10 have new visitors.

Processor time of each job, the least of some minutes, beside a minute without events.
"""

import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from tests import growth
from tests.counted_work import counted_catalog, counted_warehouse
from tests.growth import Site, a_site, jobs_of_a_minute

EVENTS: Final = int(os.environ.get("BENCH_MINUTES_EVENTS", "300_000"))
EXPERIMENTS: Final = int(os.environ.get("BENCH_MINUTES_EXPERIMENTS", "1_000"))
CHANGED: Final = 10
ROUNDS: Final = 5
# Jobs that take less are in the sum alone.
_SHOWN_SECONDS: Final = 0.01


def run() -> list[dict[str, Any]]:
    """Measure minutes with new visitors and without."""
    with (
        tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder,
        # Each visitor who comes back is of another experiment.
        patch.object(growth, "BACK", CHANGED),
        a_site(Path(folder), stored=EVENTS, experiments=EXPERIMENTS) as site,
    ):
        quiet, changed = (
            [_minute(site, has_visits=visits) for _ in range(ROUNDS)] for visits in (False, True)
        )
        least = [min(times, key=lambda one: sum(one.values())) for times in (changed, quiet)]
        site.write_visits()
        with (
            counted_warehouse(site.services.warehouse) as stored,
            counted_catalog(site.services.catalog.database) as catalog,
        ):
            _minute(site, has_visits=False)
    done = f"{stored.rows_scanned:,} rows read, {stored.statements + catalog.statements} statements"
    each = {name: [one[name] for one in least] for name, took in least[0].items() if took >= _SHOWN_SECONDS}
    return [
        {
            "experiments": f"{EXPERIMENTS:,}",
            "job": name,
            f"{CHANGED} with new visitors": f"{1000 * with_visits:.0f} ms",
            "none": f"{1000 * without:.0f} ms",
        }
        for name, (with_visits, without) in (
            *each.items(),
            (f"all jobs: {done}", [sum(one.values()) for one in least]),
        )
    ]


def _minute(site: Site, *, has_visits: bool) -> dict[str, float]:
    """Run the jobs of a minute, and return the processor seconds of each."""
    if has_visits:
        site.write_visits()
    took: dict[str, float] = defaultdict(float)
    for job in jobs_of_a_minute(site):
        begun = time.process_time()
        job.run(site.services)
        took[job.name] = time.process_time() - begun
    return took
