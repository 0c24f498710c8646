"""Distributed rollup of a project's events into Parquet files."""

import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.distributed.counted_groups import CountedGroup, group_experiments
from pipeline.distributed.engine import Engine
from pipeline.distributed.event_files import UnusableEventsError
from pipeline.distributed.output import (
    GroupWriter,
    OutputGroup,
    OutputManifest,
    write_output_manifest,
)
from pipeline.distributed.scratch import LINKS
from pipeline.distributed.steps import counting
from pipeline.distributed.steps.counting import CountStep
from pipeline.distributed.steps.event_summary import SummaryStep
from pipeline.distributed.steps.links import LinkStep, PersonKeys, find_persons
from pipeline.distributed.steps.repeats import RepeatStep
from pipeline.distributed.steps.transactions import TransactionStep
from pipeline.rollup.aggregates import add_up
from pipeline.rollup.counting_rules import fingerprint
from pipeline.rollup.segment_codes import SegmentCodes

_DIMENSION: Final = ("experiment", "dimension")
_VALUE: Final = (*_DIMENSION, "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Size of the work: `parts` of visitors, with `at_once` events in memory, as of `now`."""

    parts: int
    at_once: int
    now: datetime


def roll_up(
    engine: Engine, project: Project, experiments: Sequence[Experiment], extent: Extent, folder: Path
) -> OutputManifest:
    """Count the events of `engine` for all experiments that have started, and write files into `folder`.

    Raises UnusableEventsError.
    """
    groups = group_experiments(project, experiments)
    if not groups:
        raise UnusableEventsError(f"no experiment of {project.id} has started, so nothing is to be counted")
    found = pl.concat([SummaryStep.returned.to_frame(), *engine.run(SummaryStep())])
    summary = next(found.iter_rows(named=True), {"events": 0})
    if not summary["events"]:
        raise UnusableEventsError("the files have no events")
    until = summary["newest_seq"]
    links = pl.concat([LINKS.to_frame(), *engine.run(LinkStep(parts=extent.parts, until=until))])
    run = _Run(engine=engine, extent=extent, until=until, links=links)
    manifest = OutputManifest(
        project_id=project.id,
        **summary,
        as_of=epoch_microseconds(extent.now),
        groups=tuple(run.count(group, folder / f"{number}") for number, group in enumerate(groups)),
    )
    write_output_manifest(folder, manifest)
    return manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    engine: Engine
    extent: Extent
    until: int
    links: pl.DataFrame

    def count(self, group: CountedGroup, folder: Path) -> OutputGroup:
        """Count a group into files in `folder`."""
        step = self._prepare(group)
        writer, results = GroupWriter(folder), _Results()
        for part in self.engine.run(step):
            for kind, content in part.iter_rows():
                rows = pl.read_ipc(io.BytesIO(content))
                if kind in writer.rows:
                    writer.add(kind, rows)
                else:
                    results.add(kind, rows)
        writer.add_sums(results.sums())
        last = dict(results.last_exposed().iter_rows())
        return OutputGroup(
            experiments=tuple(one.id for one in group.experiments),
            fingerprints=tuple(fingerprint(one, group.rules) for one in group.experiments),
            last_exposed_at=tuple(last.get(number) for number in range(len(group.experiments))),
            rules=group.rules.to_json(),
            **writer.rows,
        )

    def _prepare(self, group: CountedGroup) -> CountStep:
        """Find what the count of each visitor depends on besides its own events."""
        parts, until, last = self.extent.parts, self.until, group.received_until
        persons = PersonKeys(find_persons(self.links, until=until, received_until=last))
        repeats = self._all(RepeatStep(parts=parts, until=until, received_until=last))
        return CountStep(
            parts=parts,
            until=until,
            group=group,
            persons=persons,
            repeats=repeats["seq"],
            further=self._all(TransactionStep(parts=parts, until=until, persons=persons)),
            at_once=self.extent.at_once,
        )

    def _all(self, step: RepeatStep | TransactionStep) -> pl.DataFrame:
        return pl.concat([step.returned.to_frame(), *self.engine.run(step)])


@dataclass(frozen=True, slots=True)
class _Results:
    """Results of parts that are small enough to be put together here."""

    _kept: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, rows: pl.DataFrame) -> None:
        kept = self._kept[kind]
        kept.append(rows)
        if kind == counting.SUMS:
            kept[:] = [add_up(kept)]

    def last_exposed(self) -> pl.DataFrame:
        schema = {"experiment": pl.UInt16, "last_exposed_at": pl.Int64}
        rows = pl.concat([pl.DataFrame(schema=schema), *self._kept[counting.LAST_EXPOSED]])
        return rows.group_by("experiment").agg(pl.col("last_exposed_at").max())

    def sums(self) -> pl.DataFrame:
        """Add up the sums, without the dimensions that have too many values in all parts together."""
        values = self._kept[counting.VALUES]
        cells = add_up(self._kept[counting.SUMS])
        if not values:
            return cells
        distinct = pl.concat(values).select(_VALUE).unique().sort(_VALUE)
        code = pl.int_range(pl.len(), dtype=pl.UInt32).over(_DIMENSION).alias("code")
        large = SegmentCodes(distinct.with_columns(code)).large_dimensions()
        return cells.join(large, on=_DIMENSION, how="anti")
