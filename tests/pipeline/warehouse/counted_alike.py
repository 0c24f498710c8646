"""Sums of one shop, counted by the service and by SQL."""

from collections import defaultdict
from typing import Any, Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.results.outside.needed_products import products_of
from pipeline.rollup.counting_rules import SEVERAL_VARIANTS, CountingRules
from pipeline.rollup.goals.summed_goals import goals_needing_values
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import ValueSums, read_value_sums
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.statement import Statement, statement_of
from pipeline.warehouse.statement_sums import CountedSums
from tests.pipeline.warehouse.random_shop import TABLES, UNTIL, ZONE, Shop
from tests.pipeline.working_store import WorkingStore

_DIMENSIONS: Final = ("", "days_since_exposure", "day_of_week", "country", "custom:plan")
Product = tuple[str, str, str | None, str | None, str]


def rolled_up(store: WorkingStore, shop: Shop, seed: int) -> tuple[Project, list[Experiment]]:
    """Store the events of a shop in a project of its own, and count them."""
    settings = {"exchange_rates": {"EUR": 1.1}} if seed % 2 else {}
    project = store.add_project(reporting_timezone=ZONE, settings=settings)
    names = ("name", "goals", "variants", "started_at", "statistics")
    experiments = [
        store.add_experiment(project, **{name: getattr(one, name) for name in names})
        for one in shop.experiments
    ]
    store.ingest.write_now(project.id, shop.events(experiments))
    store.rollup.refresh(project.id)
    return project, experiments


def statement(project: Project, experiment: Experiment, engine: str) -> Statement:
    """Build the statement of an experiment for an engine."""
    rules = CountingRules.of(project)
    return statement_of(TABLES, experiment, rules, DIALECTS[engine], now_us=epoch_microseconds(UNTIL))


def stored(store: WorkingStore, experiment: Experiment) -> tuple[set[tuple[Any, ...]], dict[Product, int]]:
    """Read the sums and products that the service counted."""
    return _stored_cells(store, experiment), _stored_products(store, experiment)


def _stored_cells(store: WorkingStore, experiment: Experiment) -> set[tuple[Any, ...]]:
    """Read the sums that the service counted, by names, as those of answers are."""
    variants = {place: one.id for place, one in enumerate(experiment.variants)}
    variants[SEVERAL_VARIANTS] = "several_variants"
    goals = {place: one.id for place, one in enumerate(experiment.goals)}
    with store.warehouse.cursor() as cursor:
        cells = aggregates.read_all(cursor, experiment.id)
    named = cells.filter(pl.col("dimension").is_in(_DIMENSIONS)).select(
        "dimension",
        "value",
        pl.col("variant").replace_strict(variants, return_dtype=pl.String),
        pl.col("goal").replace_strict(goals, default=None, return_dtype=pl.String),
        pl.col("sum").cast(pl.String),
        pl.from_epoch("day", time_unit="d").cast(pl.Date),
        *aggregates.SUMS,
    )
    return set(named.rows())


def answered_cells(answer: CountedSums) -> set[tuple[Any, ...]]:
    """List the cells of an answer that are not empty."""
    return set(answer.cells.filter(pl.any_horizontal(pl.col(*aggregates.SUMS) != 0)).rows())


def _stored_products(store: WorkingStore, experiment: Experiment) -> dict[Product, int]:
    """Add up the products of visitors in the rows of the service, of everyone and of each country."""
    ids = [goal.id for goal in experiment.goals]
    valued = goals_needing_values(experiment, ids)
    found: dict[Product, int] = {}
    with store.warehouse.cursor() as cursor:
        everyone = SelectedVisitors.everyone(cursor, experiment.id, variants=len(experiment.variants))
        for dimension, value in (("", ""), ("country", "US"), ("country", "DE")):
            selected = everyone.within({dimension: value} if dimension else {})
            for sums in read_value_sums(selected, valued):
                one = next(one for one in valued if one.place == sums.goal)
                variant = experiment.variants[sums.variant].id
                for name in products_of(experiment, one):
                    found[dimension, value, variant, ids[sums.goal], name] = _number(sums, name)
                if sums.cap is not None:
                    found["", "", None, ids[sums.goal], "cap"] = sums.cap
    return {key: number for key, number in found.items() if number}


def answered_products(answer: CountedSums) -> dict[Product, int]:
    """Add up the products of an answer over its days, of the same visitors."""
    found: dict[Product, int] = defaultdict(int)
    for dimension, value, variant, goal, _, product, high, low in answer.products.iter_rows():
        if dimension in {"", "country"}:
            found[dimension, value, variant, goal, product] += high * CUBE_BASE + low
    return {key: number for key, number in found.items() if number}


def _number(sums: ValueSums, name: str) -> int:
    return sums.thirds[name] if name in sums.thirds else int(getattr(sums, name))
