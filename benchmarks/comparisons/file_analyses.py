"""`truelift analyze` of a Parquet file of 10 million rows, against a bare Polars query of the same sums.

Both are commands of their own, with their start, and take turns. The query sums up by variant and day, and by
visitor before where rows share visitors; the run stops where it counts other visitors or conversions.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks.comparisons.comparing import Row

ROWS: Final = 10_000_000
# Rows of one visitor, in the mean, where they share visitors.
EACH: Final = 2.5
ROUNDS: Final = 3
_OWN: Final = ("-m", "benchmarks.comparisons.file_analyses")
_COLUMNS: Final = (
    "--variant",
    "variant",
    "--goal",
    "bought",
    "--goal",
    "revenue:revenue",
    "--timestamp",
    "at",
)


def run_in_parts() -> Iterator[list[Row]]:
    """Measure a file whose rows are visitors, and one whose rows share them."""
    for what, visitors in (("a row per visitor", ROWS), ("rows share visitors", int(ROWS / EACH))):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "rows.parquet"
            # A process that has the rows would hand its memory on to the commands.
            _measured([*_OWN, "draw", str(file), str(visitors)])
            yield [_row(what, file, shared=visitors < ROWS)]


def _draw(file: str, visitors: int) -> None:
    rng = np.random.default_rng(3)
    who = rng.integers(0, visitors, ROWS)
    bought = rng.random(ROWS) < 0.05
    start = 1_767_225_600_000_000
    rows = pl.DataFrame(
        {
            "visitor": pl.Series(who).cast(pl.String),
            "variant": np.where(who % 2 == 0, "control", "treatment"),
            "at": pl.Series(start + rng.integers(0, 28 * 86_400_000_000, ROWS)).cast(
                pl.Datetime("us", "UTC")
            ),
            "bought": bought,
            "revenue": np.where(bought, rng.lognormal(3.4, 0.8, ROWS).round(2), 0.0),
            "score": rng.normal(50, 10, ROWS),
        }
    )
    rows.write_parquet(file)


def _row(what: str, file: Path, *, shared: bool) -> Row:
    by_visitor = ["--visitor", "visitor"] if shared else []
    ours = [
        "-c",
        "from api.cli.app import main; main()",
        "analyze",
        str(file),
        "--control",
        "control",
        "--json",
        *_COLUMNS,
        *by_visitor,
    ]
    bare = [*_OWN, "sum", str(file), *by_visitor]
    both = [(_measured(ours), _measured(bare)) for _ in range(ROUNDS)]
    report, sums = (json.loads(one[0]) for one in both[0])
    goal = report["goals"][0]["variants"]
    if [[arm["visitors"], arm["conversions"]] for arm in goal] != sums:
        raise AssertionError(f"{goal} and {sums}")
    (seconds, peak), (least, floor) = (
        (min(one[1] for one in each), min(one[2] for one in each)) for each in zip(*both, strict=True)
    )
    return {
        "what": f"{ROWS:,} rows, {what}",
        "ours": f"{seconds:.2f} s, {peak:,.0f} MiB",
        "bare query": f"{least:.2f} s, {floor:,.0f} MiB",
        "ratio": f"{seconds / least:.2f}",
    }


def _measured(command: list[str]) -> tuple[bytes, float, float]:
    """Run a command; return what it printed, its seconds of processor time, and its largest memory in MiB."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            raise AssertionError
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _sums(file: str, *, shared: bool) -> list[Any]:
    day, revenue = pl.col("at").dt.date().alias("day"), pl.col("revenue")
    rows = pl.scan_parquet(file).select("visitor", "variant", day, "bought", "revenue")
    if shared:
        firsts = pl.col("variant", "day").min()
        rows = rows.group_by("visitor").agg(firsts, pl.col("bought").any(), revenue.sum())
    sums = rows.group_by("variant", "day").agg(
        pl.len(), pl.col("bought").sum(), revenue.sum(), (revenue**2).sum().alias("squares")
    )
    totals = sums.group_by("variant").agg(pl.col("len", "bought").sum()).sort("variant")
    return [list(row[1:]) for row in totals.collect().rows()]


if __name__ == "__main__":
    task, path, *rest = sys.argv[1:]
    if task == "draw":
        _draw(path, int(rest[0]))
    else:
        print(json.dumps(_sums(path, shared=bool(rest))))
