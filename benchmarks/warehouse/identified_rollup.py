"""Rollup of ten million events with user ids, against the leanest SQL and Polars with the same join.

Of the visitors 30% are identified, and 20% of the users have two visitor ids. The last row is the rollup of
the same events without user ids, whose visitors all stay apart.
"""

from typing import Any

from benchmarks.warehouse.rollup import ROLLUP, WITH_USER_IDS, compare


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time each peer on 10 million events at scale 1, and check that all give the same totals."""
    (anonymous,) = compare([ROLLUP], scale)
    rows = compare([ROLLUP, *WITH_USER_IDS], scale, identified=True)
    ratios = {
        f"rollup / this, {name}": f"{float(rows[0][column]) / float(anonymous[column]):.2f}"
        for name, column in (("time", "seconds"), ("CPU", "CPU seconds"))
    }
    return [*rows, {**anonymous, "": "rollup without user ids", **ratios}]
