"""Distributed rollup of a project's events into Parquet files."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.distributed import named_frames
from pipeline.distributed.counted_groups import CountedGroup, group_experiments
from pipeline.distributed.engine import Engine
from pipeline.distributed.event_files import UnusableEventsError
from pipeline.distributed.output import (
    GroupWriter,
    OutputGroup,
    OutputManifest,
    write_output_manifest,
)
from pipeline.distributed.persons import find_persons
from pipeline.distributed.steps import counting, shared_keys
from pipeline.distributed.steps.counting import CountStep
from pipeline.distributed.steps.shared_keys import KeyStep
from pipeline.rollup.aggregates import add_up
from pipeline.rollup.counting_rules import fingerprint
from pipeline.rollup.segment_codes import SegmentCodes

_DIMENSION: Final = ("experiment", "dimension")
_VALUE: Final = (*_DIMENSION, "value")
# Events of a part, which a process holds in memory; small parts cost more.
_MOST_EVENTS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Size of the work: `parts` of visitors, with `at_once` events in memory, as of `now`."""

    parts: int
    at_once: int
    now: datetime


def choose_parts(events: int, *, cores: int) -> int:
    """Choose a number of parts: as many for each core, and of no more events than bounds the memory."""
    return cores * max(1, -(-events // (cores * _MOST_EVENTS)))


def roll_up(
    engine: Engine, project: Project, experiments: Sequence[Experiment], extent: Extent, folder: Path
) -> OutputManifest:
    """Count the events of `engine` for all experiments that have started, and write files into `folder`.

    Raises UnusableEventsError.
    """
    groups = group_experiments(project, experiments)
    if not groups:
        raise UnusableEventsError(f"no experiment of {project.id} has started, so nothing is to be counted")
    ends = tuple(group.received_until for group in groups)
    shared = _find_shared(engine, KeyStep(parts=extent.parts, ends=ends))
    if shared[shared_keys.SUMMARY].is_empty():
        raise UnusableEventsError("the files have no events")
    run = _Run(engine=engine, extent=extent, shared=shared)
    manifest = OutputManifest(
        project_id=project.id,
        **shared_keys.add_up_summaries(shared[shared_keys.SUMMARY]).row(0, named=True),
        as_of=epoch_microseconds(extent.now),
        groups=tuple(run.count(group, folder / f"{number}") for number, group in enumerate(groups)),
    )
    write_output_manifest(folder, manifest)
    return manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Run of an engine; `shared` has the results of KeyStep by kind."""

    engine: Engine
    extent: Extent
    shared: dict[str, pl.DataFrame]

    def count(self, group: CountedGroup, folder: Path) -> OutputGroup:
        """Count a group into files in `folder`."""
        writer = GroupWriter(folder)
        small: dict[str, list[pl.DataFrame]] = defaultdict(list)
        for part in self.engine.run(self._step(group)):
            for kind, rows, content in part.iter_rows():
                if kind in writer.rows:
                    writer.add(kind, rows, content)
                else:
                    small[kind].append(named_frames.unpack(content))
            small[counting.SUMS] = [add_up(small[counting.SUMS])]
        writer.add_sums(_sums(small))
        last = dict(_last_exposed(small).iter_rows())
        return OutputGroup(
            experiments=tuple(one.id for one in group.experiments),
            fingerprints=tuple(fingerprint(one, group.rules) for one in group.experiments),
            last_exposed_at=tuple(last.get(number) for number in range(len(group.experiments))),
            rules=group.rules.to_json(),
            **writer.rows,
        )

    def _step(self, group: CountedGroup) -> CountStep:
        """Find what the count of each visitor depends on besides its own events."""
        parts, end = self.extent.parts, group.received_until
        persons = find_persons(self.shared[shared_keys.LINKED], received_until=end)
        return CountStep(
            parts=parts,
            group=group,
            persons=persons,
            repeats=self.shared[shared_keys.REPEATS].filter(pl.col("received_until") == end)["seq"],
            further=persons.further_parts(self.shared[shared_keys.ORDERS], parts),
            at_once=self.extent.at_once,
        )


def _find_shared(engine: Engine, step: KeyStep) -> dict[str, pl.DataFrame]:
    found = {kind: [schema.to_frame()] for kind, schema in shared_keys.KINDS.items()}
    for part in engine.run(step):
        for kind, _, content in part.iter_rows():
            found[kind].append(named_frames.unpack(content))
    return {kind: pl.concat(frames) for kind, frames in found.items()}


def _last_exposed(results: dict[str, list[pl.DataFrame]]) -> pl.DataFrame:
    schema = {"experiment": pl.UInt16, "last_exposed_at": pl.Int64}
    rows = pl.concat([pl.DataFrame(schema=schema), *results[counting.LAST_EXPOSED]])
    return rows.group_by("experiment").agg(pl.col("last_exposed_at").max())


def _sums(results: dict[str, list[pl.DataFrame]]) -> pl.DataFrame:
    """Add up the sums, without the dimensions that have too many values in all parts together."""
    values = results[counting.VALUES]
    cells = add_up(results[counting.SUMS])
    if not values:
        return cells
    distinct = pl.concat(values).select(_VALUE).unique().sort(_VALUE)
    code = pl.int_range(pl.len(), dtype=pl.UInt32).over(_DIMENSION).alias("code")
    large = SegmentCodes(distinct.with_columns(code)).large_dimensions()
    return cells.join(large, on=_DIMENSION, how="anti")
