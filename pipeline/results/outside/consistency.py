"""Consistency of sums that were counted outside: whether visitors can have them at all."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.errors import InvalidDesignError, Problem
from engine.measures.sums import BUCKET_SUMS, MONEY, SUMS
from engine.validation.values import shown
from pipeline.results.outside.outside_sums import MARKS, OutsideSums
from pipeline.rollup.segment_codes import MOST_VALUES
from pipeline.store.event_columns import DIMENSIONS, OTHER
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.aggregates import SUMS as NUMBERS
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.extremes import LISTS, NONZERO, STEPS, WITH_DENOMINATOR
from pipeline.store.warehouse.product_sums import CAP
from pipeline.store.warehouse.segment_dimensions import is_dimension
from pipeline.store.warehouse.value_sums import PRODUCTS

_CELL: Final = ("dimension", "value", "variant", "goal", "sum", "day", "bucket")
_VISITORS_OF: Final = ("dimension", "value", "variant")
# Sums of one value of a visitor, which have days of their own.
_BY_DAY: Final = [one.name for one in SUMS.values() if len(one.columns) == 1]
_KINDS: Final = (*(kind for kind in LISTS if kind != "addresses"), NONZERO, WITH_DENOMINATOR, STEPS)
_MOST_PROBLEMS: Final = 20
_WIDE: Final = pl.Int128
# Doubles tell apart what differs by more than this share; the rest is compared in whole numbers.
_NEARLY: Final = 1e-9


def require_consistent(experiment: Experiment, sums: OutsideSums, last_day: date) -> None:
    """Raise InvalidDesignError, with each problem found, where no visitors can have the sums.

    No event is of a later day than `last_day`.
    """
    names = list(_of_names(experiment, sums))
    # Numbers of something unknown say nothing.
    problems = names or [*_of_numbers(experiment, sums.cells, last_day)]
    if problems:
        raise InvalidDesignError(problems[:_MOST_PROBLEMS])


def _of_names(experiment: Experiment, sums: OutsideSums) -> Iterator[Problem]:
    variants = {one.id for one in experiment.variants}
    goals = {one.id for one in experiment.goals}
    tables = (sums.cells, sums.products, sums.extremes)
    yield from _unknown("variant", tables, {*variants, *MARKS})
    yield from _unknown("goal", tables, goals)
    yield from _unknown("sum", [sums.cells], {*SUMS, *BUCKET_SUMS})
    yield from _unknown("product", [sums.products], {*PRODUCTS, CAP})
    yield from _unknown("kind", [sums.extremes], set(_KINDS))
    for table in tables[:2]:
        for name in table["dimension"].unique().to_list():
            if name is None:
                yield Problem("dimension", "is null; that of all visitors is empty")
            elif name not in {EVERYONE, SINCE_EXPOSURE} and not is_dimension(name):
                yield Problem(
                    "dimension", f"{shown(name)} is none of {', '.join(DIMENSIONS)}, nor custom:<key>"
                )
    for name, one in DIMENSIONS.items():
        if one.values:
            given = sums.cells.filter(pl.col("dimension") == name)["value"].unique().to_list()
            yield from (
                Problem("value", f"{shown(value)} is no {name}: {', '.join(one.values)}")
                for value in given
                if value not in {*one.values, OTHER}
            )


def _unknown(name: str, tables: Iterable[pl.DataFrame], known: set[str]) -> Iterator[Problem]:
    found = {one for table in tables if name in table.columns for one in table[name].unique().to_list()}
    for one in sorted(found - known - {None}):
        yield Problem(name, f"{shown(one)} is not one of {', '.join(sorted(known))}")


@dataclass(frozen=True, slots=True)
class _Rule:
    """What no row may be: `broken` selects the wrong rows of the cells, and `message` says what is wrong."""

    field: str
    message: str
    broken: Callable[[pl.DataFrame], pl.DataFrame]


def _of_numbers(experiment: Experiment, cells: pl.DataFrame, last_day: date) -> Iterator[Problem]:
    filled = cells.with_columns(pl.col(*NUMBERS).fill_null(0))
    for rule in (*_RULES, *_rules_of(experiment, last_day)):
        wrong = rule.broken(filled)
        if wrong.height:
            more = f", and {wrong.height - 1:,} more" if wrong.height > 1 else ""
            yield Problem(rule.field, f"{rule.message}: {_where(wrong.row(0, named=True))}{more}")


def _where(row: dict[str, object]) -> str:
    """Name a cell in a few words."""
    parts = [f"{name} {shown(row[name])}" for name in ("variant", "goal", "sum") if row.get(name) is not None]
    parts += [str(row["day"])] if row.get("day") else []
    if row.get("dimension"):
        parts.append(f"{row['dimension']} {shown(row['value'])}" if "value" in row else str(row["dimension"]))
    return ", ".join(parts) or "all visitors"


def _rules_of(experiment: Experiment, last_day: date) -> Iterator[_Rule]:
    """Yield the rules of an experiment's own goals and days."""
    sums_of = {goal.id: sorted(_sums_of(goal)) for goal in experiment.goals}
    pairs = [(goal, name) for goal, names in sums_of.items() for name in names]
    own = pl.DataFrame(pairs, {"goal": pl.String, "sum": pl.String}, orient="row")
    primary = primary_row(experiment)
    followed = None if primary is None else experiment.goals[primary].id
    yield _Rule(
        "sum",
        "is no sum of its goal",
        lambda cells: cells.filter(pl.col("goal").is_not_null()).join(own, on=["goal", "sum"], how="anti"),
    )
    yield _Rule(
        "day",
        f"is after {last_day.isoformat()}, the day of the watermark",
        lambda cells: cells.filter(pl.col("day") > last_day),
    )
    yield _Rule(
        "dimension",
        f"{SINCE_EXPOSURE} has the primary goal alone, and days from 0 to {MOST_DAYS - 1} as values",
        lambda cells: cells.filter(
            (pl.col("dimension") == SINCE_EXPOSURE)
            & (
                pl.col("goal").ne_missing(followed)
                | ~pl.col("value").is_in([str(day) for day in range(MOST_DAYS)])
            )
        ),
    )


def _sums_of(goal: Goal) -> set[str]:
    columns = set(goal.measure.columns)
    own = {name for name, one in SUMS.items() if columns.issuperset(column for column, _ in one.columns)}
    return {MONEY.name, *own, *(BUCKET_SUMS if goal.measure.is_quantile else ())}


def _is_missing(cells: pl.DataFrame) -> pl.DataFrame:
    has_goal = pl.col("goal").is_not_null()
    is_bucket = pl.col("sum").is_in(BUCKET_SUMS).fill_null(value=False)
    keys = pl.any_horizontal(pl.col("dimension", "value", "variant", "day").is_null())
    wrong_sum = (has_goal != pl.col("sum").is_not_null()) | (is_bucket != pl.col("bucket").is_not_null())
    return cells.filter(keys | wrong_sum)


def _repeated(cells: pl.DataFrame) -> pl.DataFrame:
    return cells.filter(pl.struct(_CELL).is_duplicated())


def _negative(cells: pl.DataFrame) -> pl.DataFrame:
    counts = ("visitors", "conversions", "cohort_conversions", "cohort_squared")
    return cells.filter(pl.any_horizontal(pl.col(*counts) < 0))


def _misplaced(cells: pl.DataFrame) -> pl.DataFrame:
    """Select rows of visitors with numbers of goals, and rows of goals with visitors."""
    of_goals = [name for name in NUMBERS if name != "visitors"]
    is_visitors = pl.col("goal").is_null()
    return cells.filter(
        pl.when(is_visitors).then(pl.any_horizontal(pl.col(of_goals) != 0)).otherwise(pl.col("visitors") != 0)
    )


def _with_visitors(cells: pl.DataFrame) -> pl.DataFrame:
    """Give rows of goals the visitors `n` that were first exposed on their day."""
    by = [*_VISITORS_OF, "day"]
    visitors = cells.filter(pl.col("goal").is_null()).select(*by, pl.col("visitors").alias("n"))
    of_goals = cells.filter(pl.col("goal").is_not_null() & (pl.col("dimension") != SINCE_EXPOSURE))
    return of_goals.join(visitors, on=by, how="left").with_columns(pl.col("n").fill_null(0))


def _more_than_visitors(cells: pl.DataFrame) -> pl.DataFrame:
    return _with_visitors(cells).filter(pl.col("cohort_conversions") > pl.col("n"))


def _small_squares(cells: pl.DataFrame) -> pl.DataFrame:
    """Select sums of squares below those of equal values, or below the sum of whole numbers."""
    sums = _with_visitors(cells).filter(pl.col("bucket").is_null())
    total, squared, n = pl.col("cohort_total"), pl.col("cohort_squared"), pl.col("n")
    least = total.cast(pl.Float64) ** 2
    doubtful = sums.filter(
        (squared < total.cast(_WIDE).abs())
        | (squared.cast(pl.Float64) * n.cast(pl.Float64) <= least * (1 + _NEARLY))
    )
    wrong = [
        square * number < amount * amount or square < abs(amount)
        for square, number, amount in doubtful.select(squared, n, total).iter_rows()
    ]
    return doubtful.filter(pl.Series(wrong, dtype=pl.Boolean))


def _large_cubes(cells: pl.DataFrame) -> pl.DataFrame:
    """Select sums of cubes beyond those of one visitor who has all of the squares."""
    high, low = (pl.col(f"cohort_cubed_{part}").cast(pl.Float64) for part in ("high", "low"))
    most = pl.col("cohort_squared").cast(pl.Float64) ** 1.5
    return cells.filter((high * CUBE_BASE + low).abs() > most * (1 + _NEARLY))


def _unequal_totals(cells: pl.DataFrame) -> pl.DataFrame:
    """Select sums of conversions, or of values, whose days add up to others than their cohorts."""
    by_day = pl.col("sum").is_in(_BY_DAY)
    of_goals = cells.filter(pl.col("goal").is_not_null() & (pl.col("dimension") != SINCE_EXPOSURE))
    added = (
        of_goals.filter(pl.col("bucket").is_null())
        .group_by(*_VISITORS_OF, "goal", "sum")
        .agg(pl.col("conversions", "total", "cohort_conversions", "cohort_total").cast(_WIDE).sum())
    )
    unequal = (pl.col("conversions") != pl.col("cohort_conversions")) | (
        by_day & (pl.col("total") != pl.col("cohort_total"))
    )
    return added.filter(unequal | (~by_day & (pl.col("total") != 0)))


def _more_than_everyone(cells: pl.DataFrame) -> pl.DataFrame:
    """Select dimensions whose values add up to more visitors, conversions or squares than all visitors'."""
    counts = ["visitors", "conversions", "cohort_conversions", "cohort_squared"]
    by = ["variant", "goal", "sum", "day", "bucket"]
    everyone = cells.filter(pl.col("dimension") == EVERYONE).select(*by, *counts)
    added = (
        cells.filter(pl.col("dimension") != EVERYONE)
        .group_by("dimension", *by)
        .agg(pl.col(counts).cast(_WIDE).sum())
    )
    found = added.join(everyone, on=by, how="left", suffix="_of_all", nulls_equal=True)
    return found.filter(
        pl.any_horizontal(pl.col(name) > pl.col(f"{name}_of_all").fill_null(0) for name in counts)
    )


def _many_values(cells: pl.DataFrame) -> pl.DataFrame:
    counted = cells.group_by("dimension").agg(pl.col("value").n_unique().alias("values"))
    return counted.filter(pl.col("values") > MOST_VALUES)


_RULES: Final = (
    _Rule("cells", "a row lacks its dimension, value, variant or day, or the sum of its goal", _is_missing),
    _Rule("cells", "two rows are of one cell", _repeated),
    _Rule("cells", "a count or a sum of squares is negative", _negative),
    _Rule("cells", "rows of visitors have no goal, and those of goals no visitors", _misplaced),
    _Rule("cohort_conversions", "are more than the visitors of that day", _more_than_visitors),
    _Rule("cohort_squared", "is less than visitors with this total can have", _small_squares),
    _Rule("cohort_cubed_low", "is more than visitors with these squares can have", _large_cubes),
    _Rule("total", "days add up to another number than the visitors' first days", _unequal_totals),
    _Rule("dimension", "its values add up to more than all visitors", _more_than_everyone),
    _Rule("dimension", f"has more than {MOST_VALUES:,} values", _many_values),
)
