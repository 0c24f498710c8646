"""Rollup of fifty million events, against one Polars pass that makes the same numbers (see `rollup`)."""

from typing import Any

from benchmarks.warehouse.rollup import BARE, ROLLUP, compare


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time both on 50 million events at scale 1, and check that both give the same totals."""
    return compare([ROLLUP, BARE], 5 * scale)
