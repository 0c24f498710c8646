"""Products and largest visitors that the analysis of an experiment needs beside its sums."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.errors import InvalidDesignError, Problem
from engine.measures.sums import AMOUNT, MONEY
from engine.validation.values import shown
from pipeline.results.outside.outside_sums import MARKS, OutsideSums
from pipeline.rollup.goals.summed_goals import goals_needing_values, goals_with_values
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.extremes import HIGHEST
from pipeline.store.warehouse.product_sums import CAP
from pipeline.store.warehouse.value_sums import PRODUCTS, SummedGoal

_SEGMENT: Final = ("dimension", "value", "variant")
_WIDE: Final = pl.Int128
# Of a product of two, the sums of squares that bound it: (Σzy)² is at most Σz² · Σy².
_BOUNDS: Final = {"dy": ("dd", "yy"), "zy": ("zz", "yy"), "zd": ("zz", "dd")}
# Of a sum, that of its squares: (Σy)² is at most n · Σy².
_SQUARES: Final = {"y": "yy", "d": "dd", "z": "zz"}


def require_products(experiment: Experiment, sums: OutsideSums) -> None:
    """Raise InvalidDesignError where products or largest visitors are missing, or cannot be."""
    ids = [goal.id for goal in experiment.goals]
    summed = {experiment.goals[one.place].id: one for one in goals_needing_values(experiment, ids)}
    problems = [
        *_of_others(sums.products, set(summed)),
        *(problem for goal_id, one in summed.items() for problem in _of_goal(experiment, sums, goal_id, one)),
        *_of_largest(experiment, sums),
    ]
    if problems:
        raise InvalidDesignError(problems[:20])


def products_of(experiment: Experiment, goal: SummedGoal) -> list[str]:
    """List the products that the analysis of a goal needs, of goals that need any."""
    measure = experiment.goals[goal.place].measure
    values = {"y"}
    values |= {"d"} if measure.is_ratio else set()
    values |= {"z"} if experiment.statistics.uses_pre_period else set()
    own = [name for name in PRODUCTS[1:] if set(name) <= values]
    return [*(["capped"] if goal.cap_percentile is not None and goal.column is not None else []), *own]


def _of_others(products: pl.DataFrame, goals: set[str]) -> Iterator[Problem]:
    for goal_id in sorted(set(products["goal"].unique().to_list()) - goals - {None}):
        yield Problem("products", f"goal {shown(goal_id)} needs none: neither CUPED, a cap nor orders")
    keys = pl.any_horizontal(pl.col("goal", "product", "low").is_null())
    if products.filter(keys | (pl.col("variant").is_null() & (pl.col("product") != CAP))).height:
        yield Problem("products", "a row lacks its goal, product, variant or low")
    cell = ("dimension", "value", "variant", "goal", "day", "product")
    if products.select(pl.struct(cell).is_duplicated().any()).item():
        yield Problem("products", "two rows are of one cell")


def _of_goal(
    experiment: Experiment, sums: OutsideSums, goal_id: str, summed: SummedGoal
) -> Iterator[Problem]:
    """Yield what is wrong with the products of a goal: one that is missing, then numbers that cannot be."""
    needed = products_of(experiment, summed)
    rows = sums.products.filter(pl.col("goal") == goal_id)
    goal = experiment.goals[summed.place]
    if goal.known_after is not None and rows.filter(pl.col("product") != CAP)["day"].null_count():
        yield Problem(
            "products", f"goal {shown(goal_id)} has outcomes that take days: give the day of each row"
        )
    wide = _wide(rows, needed)
    visitors = _visitors(sums.cells)
    lacking = visitors.join(wide, on=_SEGMENT, how="left")
    for name in needed:
        absent = lacking.filter(pl.col(name).is_null())
        if absent.height:
            yield Problem("products", f"{name} of goal {shown(goal_id)} is missing: {_named(absent)}")
            return
    yield from _impossible(lacking, goal_id, needed)
    if "capped" in needed:
        if rows.filter(pl.col("product") == CAP).height != 1 and lacking.select(pl.col("y").sum()).item():
            yield Problem("products", f"the cap of goal {shown(goal_id)} is given once, as the product cap")
        return
    known = lacking.select(*_SEGMENT, "y").join(_totals(goal, sums.cells), on=_SEGMENT, how="left")
    if (other := known.filter(pl.col("y") != pl.col("total").fill_null(0))).height:
        yield Problem("products", f"y of goal {shown(goal_id)} is not its total: {_named(other)}")


def _wide(rows: pl.DataFrame, needed: list[str]) -> pl.DataFrame:
    """Put the products of a goal beside each other, over all days."""
    number = pl.col("high").fill_null(0) * CUBE_BASE + pl.col("low")
    added = (
        rows.with_columns(number.alias("number")).group_by(*_SEGMENT, "product").agg(pl.col("number").sum())
    )
    columns = (pl.col("number").filter(pl.col("product") == name).first().alias(name) for name in needed)
    return added.group_by(_SEGMENT).agg(*columns)


def _visitors(cells: pl.DataFrame) -> pl.DataFrame:
    is_counted = pl.col("goal").is_null() & (pl.col("dimension") != SINCE_EXPOSURE)
    counted = cells.filter(is_counted & ~pl.col("variant").is_in(list(MARKS)))
    return counted.group_by(_SEGMENT).agg(pl.col("visitors").sum().alias("n")).filter(pl.col("n") > 0)


def _totals(goal: Goal, cells: pl.DataFrame) -> pl.DataFrame:
    """Add up what y is of a goal without a cap: an amount, cents, or a conversion."""
    name = MONEY.name if goal.summed is None else AMOUNT.name
    column = "cohort_conversions" if goal.unit == "share" else "cohort_total"
    own = cells.filter((pl.col("goal") == goal.id) & (pl.col("sum") == name))
    return own.group_by(_SEGMENT).agg(pl.col(column).cast(_WIDE).sum().alias("total"))


def _impossible(rows: pl.DataFrame, goal_id: str, needed: list[str]) -> Iterator[Problem]:
    """Yield sums that no values have, by the inequality of Cauchy and Schwarz, in whole numbers."""
    pairs = {name: (None, square) for name, square in _SQUARES.items()} | _BOUNDS
    for row in rows.iter_rows(named=True):
        for name, (one, other) in pairs.items():
            if name not in needed:
                continue
            bound = row[other] * (row["n"] if one is None else row[one])
            if row[name] ** 2 > bound:
                yield Problem("products", f"{name} of goal {shown(goal_id)} is too large: {_named_row(row)}")
                return


def _of_largest(experiment: Experiment, sums: OutsideSums) -> Iterator[Problem]:
    """Yield the means without largest visitors where others have theirs."""
    if sums.extremes.is_empty():
        return
    ids = [goal.id for goal in experiment.goals]
    visitors = _visitors(sums.cells).filter(pl.col("dimension") == EVERYONE)["variant"].to_list()
    listed = sums.extremes.filter(pl.col("kind") == HIGHEST).select("goal", "variant").unique().rows()
    for one in goals_with_values(experiment, ids):
        for variant in sorted({*visitors} - {variant for goal, variant in listed if goal == ids[one.place]}):
            yield Problem(
                "extremes",
                f"goal {shown(ids[one.place])} has no highest visitors of variant {shown(variant)}: give "
                "those of every goal that is a mean, or none at all",
            )


def _named(rows: pl.DataFrame) -> str:
    return _named_row(rows.row(0, named=True))


def _named_row(row: dict[str, object]) -> str:
    segment = f", {row['dimension']} {shown(row['value'])}" if row["dimension"] else ""
    return f"variant {shown(row['variant'])}{segment}"
