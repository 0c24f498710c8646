"""Sums of a distributed rollup, experiment by experiment, as a service takes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from pipeline.distributed.output import OutputGroup, OutputManifest, UnusableOutputError
from pipeline.distributed.scratch import Scratch
from pipeline.results.outside.counted_sums import sums_of
from pipeline.results.outside.outside_sums import OutsideSums
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.due import Due
from pipeline.rollup.read_events import CountedVisitors
from pipeline.rollup.result_tables import ResultTables
from pipeline.rollup.segment_values import as_categories
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse import visitors
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.published import Published

SOURCE: Final = "truelift rollup --engine"
_NO_ORDERS: Final = visitors.no_orders().select(pl.lit(0, pl.UInt16).alias("experiment"), pl.all())


def sums_of_output(
    folder: Path, manifest: OutputManifest, experiments: Mapping[str, Experiment]
) -> Iterator[tuple[Experiment, OutsideSums]]:
    """Yield the sums of each experiment that is as it was counted; raises UnusableOutputError.

    `experiments` are by id.
    """
    for cursor, group in opened_results(folder, manifest, experiments):
        records = published_rollups.find_all(cursor, [one.id for one in group])
        for one in group:
            yield one, sums_of(cursor, one, records[one.id], source=SOURCE)


def changed_since(manifest: OutputManifest, experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Say why there are no sums of the other experiments, by id."""
    counted = {one.id for group in manifest.groups for one in _kept(group, experiments).values()}
    return {
        one: "it was deleted" if one not in experiments else "it changed since it was counted"
        for group in manifest.groups
        for one in group.experiments
        if one not in counted
    }


def opened_results(
    folder: Path, manifest: OutputManifest, experiments: Mapping[str, Experiment]
) -> Iterator[tuple[Cursor, list[Experiment]]]:
    """Yield a database with the results of each group; UnusableOutputError where rows are missing."""
    for number, group in enumerate(manifest.groups):
        kept = _kept(group, experiments)
        if not kept:
            continue
        rules = CountingRules.from_json(group.rules)
        due = [Due(experiment=one, rules=rules, before=None) for one in kept.values()]
        with Scratch.open() as scratch:
            published_rollups.create_tables(scratch.cursor)
            tables = ResultTables(scratch.cursor, due, is_recount=True)
            tables.recount(_GroupFiles(folder / f"{number}", group, tuple(kept)).read())
            tables.publish([_record(one, manifest) for one in due])
            yield scratch.cursor, list(kept.values())


def _kept(group: OutputGroup, experiments: Mapping[str, Experiment]) -> dict[int, Experiment]:
    """Map the positions of experiments that are as they were counted to these."""
    rules = CountingRules.from_json(group.rules)
    counted = enumerate(zip(group.experiments, group.fingerprints, strict=True))
    return {
        position: experiments[one]
        for position, (one, found) in counted
        if one in experiments and fingerprint(experiments[one], rules) == found
    }


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
