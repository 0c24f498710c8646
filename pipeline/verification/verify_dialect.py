"""Comparison of sums by a team's own engine with those of the service, of the same rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl
from sqlglot import exp

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import Project, draft_project
from engine.local_days import epoch_microseconds
from pipeline.requests.experiments import create_draft
from pipeline.results.outside.counted_sums import sums_of
from pipeline.rollup.counting_rules import CountingRules
from pipeline.services import PipelineServices, open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id
from pipeline.store.warehouse import published
from pipeline.verification.merged_sums import merge_small_values
from pipeline.verification.sample_shop import STARTED, TABLES, UNTIL, ZONE, Shop, a_shop
from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.expressions import num
from pipeline.warehouse.statement import statement_of
from pipeline.warehouse.statement_sums import read_sums
from pipeline.warehouse.team_tables import TeamTables
from pipeline.warehouse.team_warehouse import Asked, TeamWarehouse

_ACTOR: Final = "verification"
# Rows are written into each statement, so that nothing is stored in the warehouse.
_VISITORS: Final = 12
_LEAST_VISITORS: Final = 3
_SEED: Final = 7
_DIMENSIONS: Final = ("", "days_since_exposure", "day_of_week", "country", "custom:plan")
_CELL: Final = ("dimension", "value", "variant", "goal", "sum", "day")
_PRODUCT: Final = ("dimension", "value", "variant", "goal", "day", "product")
_KINDS: Final = {"at": "TIMESTAMP", "amount": "DOUBLE", "value": "DOUBLE", "refund": "BOOLEAN"}
Sums = dict[tuple[Any, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Numbers of experiments and sums that were compared, and the first that differ, in a sentence each."""

    experiments: int
    sums: int
    differences: tuple[str, ...]


def verify_dialect(warehouse: TeamWarehouse) -> Verified:
    """Count a sample shop in the warehouse, which stores nothing, and compare each sum with the service's."""
    shop = a_shop(_SEED, visitors=_VISITORS)
    compared, differences = 0, list[str]()
    tables = inline_tables(shop, warehouse.dialect)
    with TemporaryDirectory() as folder, _opened(Path(folder)) as store:
        project, experiments = count_here(store, shop)
        for experiment in experiments:
            ours = sums_here(store, experiment, _LEAST_VISITORS)
            statement = statement_of(
                tables,
                [(experiment, CountingRules.of(project))],
                warehouse.dialect,
                now_us=epoch_microseconds(UNTIL),
                least_visitors=_LEAST_VISITORS,
            )
            asked = Asked(project_id=project.id, run_id="verify", what=f"sums of {experiment.id}")
            rows = warehouse.answer(statement.sql(), asked)
            (found,) = read_sums(statement, rows)
            theirs = as_numbers(found.cells, found.products)
            compared += len(ours)
            differences += _differences(ours, theirs)
    return Verified(experiments=len(experiments), sums=compared, differences=tuple(differences))


def count_here(
    store: PipelineServices, shop: Shop, *, exchange_rates: dict[str, float] | None = None
) -> tuple[Project, list[Experiment]]:
    """Store the events of a shop in a project of its own, and count its experiments."""
    account, *_ = store.catalog.accounts.create(name="Shop", email=f"{new_id('m')}@shop.example")
    fields = {
        "name": "Shop",
        "url": "https://shop.example",
        "reporting_timezone": ZONE,
        "settings": {"exchange_rates": exchange_rates or {}},
    }
    keys = {"id": new_id("prj"), "account_id": account.id, "sdk_key": new_id("pk")}
    drafted = draft_project(fields, now=STARTED, **keys)
    project = store.catalog.projects.create(drafted, actor=_ACTOR)
    start = partial(lifecycle.start, now=STARTED)
    experiments = [
        store.catalog.experiments.change(
            project.id,
            create_draft(store.catalog, project, draft, now=STARTED, actor=_ACTOR).id,
            start,
            actor=_ACTOR,
        )
        for draft in shop.drafts
    ]
    store.ingest.write_now(project.id, shop.events(experiments))
    store.rollup.refresh(project.id)
    return project, experiments


def sums_here(store: PipelineServices, experiment: Experiment, least_visitors: int) -> Sums:
    """Read what the service counted of an experiment, of the dimensions that the tables have.

    Segment values of fewer than `least_visitors` are merged, as a warehouse merges them.
    """
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
        if record is None:
            raise LookupError(experiment.id)
        found = sums_of(cursor, experiment, record, source=_ACTOR)
    return as_numbers(*merge_small_values(found.cells, found.products, least_visitors))


def as_numbers(cells: pl.DataFrame, products: pl.DataFrame) -> Sums:
    """Map each cell and product to its numbers, without those that are all 0."""
    tables = (
        (cells, _CELL, [name for name in cells.columns if name not in {*_CELL, "bucket"}]),
        (products, _PRODUCT, ["high", "low"]),
    )
    found: Sums = {}
    for table, keys, names in tables:
        kept = table.filter(pl.col("dimension").is_in(_DIMENSIONS)).select(*keys, pl.col(names).fill_null(0))
        found |= {row[: len(keys)]: row[len(keys) :] for row in kept.iter_rows() if any(row[len(keys) :])}
    return found


def inline_tables(shop: Shop, dialect: Dialect) -> TeamTables:
    """Describe the tables of a shop as queries that have their rows."""
    queries = {name: _rows(table).sql(dialect.name) for name, table in shop.tables.items()}
    exposures, orders, tracks = (
        source.model_copy(update={"table": None, "sql": queries[source.table or ""]})
        for source in (TABLES.exposures, *TABLES.events)
    )
    return TeamTables(exposures=exposures, events=(orders, tracks))


def _rows(table: pl.DataFrame) -> exp.Query:
    """Select the rows of a table as literals."""
    return exp.union(
        *(
            exp.select(
                *(
                    exp.cast(_literal(value), _KINDS.get(name, "TEXT")).as_(name, quoted=True)
                    for name, value in row.items()
                )
            )
            for row in table.iter_rows(named=True)
        ),
        distinct=False,
    )


def _literal(value: Any) -> exp.Expr:  # noqa: ANN401 - whatever a cell holds
    if value is None or isinstance(value, bool | str):
        return exp.convert(value)
    return num(value) if isinstance(value, int | float) else exp.convert(value.isoformat(sep=" "))


def _differences(ours: Sums, theirs: Sums) -> Iterator[str]:
    for key in sorted({*ours, *theirs}, key=str):
        if ours.get(key) != theirs.get(key):
            yield f"{', '.join(map(str, key))}: {theirs.get(key)} there, and {ours.get(key)} here"


def _opened(folder: Path) -> Any:  # noqa: ANN401 - a context of services
    return open_pipeline(Settings(data_dir=folder, catalog_url=None), clock=lambda: UNTIL)
