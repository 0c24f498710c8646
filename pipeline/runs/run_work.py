"""Work of runs: rollups and snapshots."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import polars as pl

from pipeline.rollup.run import Outcome, Rollup
from pipeline.runs.runner import ReportProgress, Work
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.runs.run_record import Kind, Run, RunResult
from pipeline.store.warehouse import aggregates, events
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse


def run_work(warehouse: Warehouse, rollup: Rollup, snapshots: Snapshots) -> Mapping[Kind, Work]:
    """Return the work of each kind of runs that needs no more than these."""
    return {
        "rollup": partial(_roll_up, warehouse, rollup),
        "snapshot": partial(_write_snapshot, snapshots),
    }


def _roll_up(warehouse: Warehouse, rollup: Rollup, run: Run, _report: ReportProgress) -> RunResult:
    outcome = rollup.refresh(run.project_id)
    changed = {"recounted": outcome.recounted, "updated": outcome.updated}
    return counted(warehouse, run, outcome, changed)


def _write_snapshot(snapshots: Snapshots, run: Run, _report: ReportProgress) -> RunResult:
    written = snapshots.write(run.project_id)
    files = written.files
    return RunResult(
        events=sum(file.rows for file in written.events),
        result={
            "taken_at": written.taken_at.isoformat(),
            "experiments": [one.id for one in written.experiments],
            "files": len(files),
            "bytes": sum(file.bytes for file in files),
        },
    )


def counted(
    warehouse: Warehouse, run: Run, outcome: Outcome, changed: Mapping[str, Iterable[str]]
) -> RunResult:
    """Describe a rollup: events counted, and the visitors of the experiments that it changed."""
    result: dict[str, Any] = {name: list(ids) for name, ids in changed.items()}
    with warehouse.transaction() as cursor:
        counted = events.count_between(
            cursor, run.project_id, after=outcome.covered_seq, until=outcome.newest_seq
        )
        published = published_rollups.find_all(cursor, [one for ids in result.values() for one in ids])
        everyone = aggregates.EVERYONE
        visitors = sum(
            _visitors(aggregates.read_value(cursor, one.experiment_id, everyone, everyone), len(one.variants))
            for one in published.values()
        )
    return RunResult(events=counted, visitors=visitors, drift=outcome.drifted, result=result)


def _visitors(cells: pl.DataFrame, variants: int) -> int:
    # Higher numbers mark visitors counted in no variant, such as bots.
    of_visitors = cells.filter(pl.col("goal").is_null(), pl.col("variant") < variants)
    return int(of_visitors["visitors"].sum())
