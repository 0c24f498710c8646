"""Publication of a distributed rollup in a store that has the same events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.distributed.output import (
    OutputGroup,
    OutputManifest,
    UnusableOutputError,
    read_output_manifest,
)
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.due import Due, rules_of
from pipeline.rollup.read_events import CountedVisitors
from pipeline.rollup.result_tables import ResultTables
from pipeline.rollup.segment_values import as_categories
from pipeline.services import PipelineServices
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse import visitors
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import count_and_digest
from pipeline.store.warehouse.incremental import identity_links
from pipeline.store.warehouse.published import Published

_NO_ORDERS: Final = visitors.no_orders().select(pl.lit(0, pl.UInt16).alias("experiment"), pl.all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Ids of experiments whose results were published, and the reason for each other one."""

    project_id: str
    published: tuple[str, ...]
    left: dict[str, str]


def publish(store: PipelineServices, folder: Path) -> Publication:
    """Publish the output in `folder`: all of its experiments at once, or on an error none.

    Experiments that have changed, or have final or newer results, are left. Raises UnusableOutputError where
    the store lacks the events that were counted, or has links of ids whose events are gone, and NotFoundError
    for an unknown project.
    """
    manifest = read_output_manifest(folder)
    project = store.catalog.projects.find(manifest.project_id)
    experiments = {one.id: one for one in store.catalog.experiments.of_project(project.id)}
    ids = [one for group in manifest.groups for one in group.experiments]
    left: dict[str, str] = {}
    with (
        store.rollup.pause(),
        store.rollup.publications.replacing(ids),
        store.warehouse.transaction() as cursor,
    ):
        _require_same_events(cursor, manifest, folder)
        before = published_rollups.find_all(cursor, ids)
        for number, group in enumerate(manifest.groups):
            rules = CountingRules.from_json(group.rules)
            kept = {}
            for position, (one, counted) in enumerate(
                zip(group.experiments, group.fingerprints, strict=True)
            ):
                experiment, record = experiments.get(one), before.get(one)
                current = CountingRules.of(project)
                if experiment is None:
                    left[one] = "it was deleted"
                elif fingerprint(experiment, rules_of(record, current) if record else current) != counted:
                    left[one] = "it, or the project's rules, changed since it was counted"
                elif record is not None and record.is_final:
                    left[one] = "its results are final"
                elif record is not None and record.covered_seq > manifest.newest_seq:
                    left[one] = "its results count newer events"
                else:
                    kept[position] = Due(experiment=experiment, rules=rules, before=None)
            if kept:
                _publish_group(cursor, _GroupFiles(folder / f"{number}", group, tuple(kept)), kept, manifest)
    return Publication(
        project_id=project.id, published=tuple(one for one in ids if one not in left), left=left
    )


def _require_same_events(cursor: Cursor, manifest: OutputManifest, folder: Path) -> None:
    stored = count_and_digest(cursor, manifest.project_id, until=manifest.newest_seq)
    if stored != (manifest.events, manifest.digest):
        raise UnusableOutputError(
            f"{folder} counts {manifest.events:,} events up to number {manifest.newest_seq:,}, and this "
            f"store has {stored[0]:,} of them, or others; load it where its events are stored"
        )
    if identity_links.has_gone_events(cursor, manifest.project_id):
        raise UnusableOutputError(
            f"events of {manifest.project_id} were removed for their age, and only this store still has the "
            "links between ids in them: count here, by `truelift rollup`"
        )


def _publish_group(
    cursor: Cursor, files: "_GroupFiles", kept: dict[int, Due], manifest: OutputManifest
) -> None:
    tables = ResultTables(cursor, list(kept.values()), is_recount=True)
    tables.recount(files.read())
    tables.publish([_record(due, manifest) for due in kept.values()])


def _record(due: Due, manifest: OutputManifest) -> Published:
    return Published(
        experiment_id=due.experiment.id,
        fingerprint=fingerprint(due.experiment, due.rules),
        rules=due.rules.to_json(),
        covered_seq=manifest.newest_seq,
        as_of=manifest.as_of,
        last_exposed_at=None,
        variants=tuple(variant.id for variant in due.experiment.variants),
        goals=tuple(goal.id for goal in due.experiment.goals),
        dimensions=(),
        # The next refresh knows whether events from before the end were still to come.
        is_final=False,
    )


@dataclass(frozen=True, slots=True)
class _GroupFiles:
    """Files of a group, of which the experiments at the positions `kept` are read and numbered anew."""

    folder: Path
    group: OutputGroup
    kept: tuple[int, ...]

    def read(self) -> Iterator[CountedVisitors]:
        """Yield the rows of each file; raises UnusableOutputError where some are missing at the end."""
        kind = pl.Categorical(pl.Categories.random())
        rows = {"visitors": 0, "orders": 0}
        last = {
            number: moment
            for number, position in enumerate(self.kept)
            if (moment := self.group.last_exposed_at[position]) is not None
        }
        for path in sorted((self.folder / "visitors").glob("*.parquet")):
            orders_path = self.folder / "orders" / path.name
            counted = pl.read_parquet(path, glob=False)
            orders = pl.read_parquet(orders_path, glob=False) if orders_path.is_file() else _NO_ORDERS
            rows["visitors"] += counted.height
            rows["orders"] += orders.height
            yield CountedVisitors(self._keep(as_categories(counted, kind)), self._keep(orders), last)
        if rows != {"visitors": self.group.visitors, "orders": self.group.orders}:
            raise UnusableOutputError(
                f"{self.folder} has {rows['visitors']:,} visitors and {rows['orders']:,} orders, and had "
                f"{self.group.visitors:,} and {self.group.orders:,}; copy it again"
            )

    def _keep(self, rows: pl.DataFrame) -> pl.DataFrame:
        numbers = {position: number for number, position in enumerate(self.kept)}
        kept = rows.filter(pl.col("experiment").is_in(self.kept))
        return kept.with_columns(pl.col("experiment").replace_strict(numbers, return_dtype=pl.UInt16))
