"""Rollup of five million events with 1, 10 and 50 experiments of three goals each.

The same number of exposures is spread over the experiments, whose goals have the same three definitions.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.warehouse.many_events import fill, spread
from benchmarks.warehouse.rollup import MANY, measure


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time the rollups on 5 million events at scale 1, and check that each experiment has visitors."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        events, origin = Path(folder) / "events", Path(folder) / "origin"
        fill(events, int(5_000_000 * scale))
        for name in MANY:
            shutil.copytree(events, origin)
            spread(origin, int(name.rsplit(" ", 1)[1]))
            measured[name] = measure(name, origin)
            shutil.rmtree(origin)
    one = next(iter(measured.values()))
    return [_row(name, each, one) for name, each in measured.items()]


def _row(name: str, measured: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    counted = {row[0] for row in measured["totals"] if row[1] > 0}
    if len(counted) != int(name.rsplit(" ", 1)[1]):
        raise RuntimeError(f"{name} experiments counts visitors of {len(counted)}")
    return {
        "": f"{name} experiments",
        "seconds": f"{measured['seconds']:.1f}",
        "CPU seconds": f"{measured['cpu']:.1f}",
        "peak memory": f"{measured['peak_mb']:,} MB",
        "this / one experiment, time": f"{measured['seconds'] / one['seconds']:.2f}",
        "this / one experiment, CPU": f"{measured['cpu'] / one['cpu']:.2f}",
    }
