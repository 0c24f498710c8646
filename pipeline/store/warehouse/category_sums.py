"""Sums of visitors' values by categories, segment values that are covariates, and of an index of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Generic, NamedTuple, Self, TypeVar

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, json_pointer
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal, caps_of, counted_goals, value_columns
from pipeline.store.warehouse.visitors import result_table

# Selects the categories to tell apart, from the `count` of visitors with each `value`, null where unknown.
ChooseCategories = Callable[[pl.DataFrame], pl.Series]
Total = TypeVar("Total")


class GoalSums(NamedTuple, Generic[Total]):
    """Sums of a goal: of the value y, the orders d (or a ratio's denominator), the pre-period value z."""

    y: Total
    d: Total
    z: Total


class CategoryCell(NamedTuple):
    """Visitors of a variant with one category of a covariate, by positions, and their sums of each goal."""

    variant: int
    covariate: int
    category: int
    visitors: int
    sums: Mapping[int, GoalSums[int]]


class CategoryPair(NamedTuple):
    """Visitors of a variant who have one category of each of two covariates."""

    variant: int
    covariates: tuple[int, int]
    categories: tuple[int, int]
    visitors: int


class CategorySums(NamedTuple):
    """Sums by the categories of covariates: each has so many, `sizes`, and so numbered from 0."""

    sizes: Sequence[int]
    cells: Sequence[CategoryCell]
    pairs: Sequence[CategoryPair]


class GoalIndex(NamedTuple):
    """An index of covariates that explains a goal: of each category, and of a whole number of the pre-period.

    `centre` is taken from the index, and `centres` from the value and the orders in units of `units`.
    """

    by_category: Sequence[Sequence[float]]
    of_past: float
    centre: float
    centres: tuple[float, float]
    units: tuple[int, int]


# Products of an index x, a value y and orders d, each less its centre.
PRODUCTS: Final = ("x", "xx", "xxx", "xy", "xxy", "xyy", "xd", "xxd", "xdd", "xyd")


@dataclass(frozen=True, slots=True)
class CategorizedVisitors:
    """Visitors of an experiment with the number of their category of each covariate.

    `cursor` is in a transaction, in which the tables of the numbers exist. Values are those of
    `read_value_sums`, and capped in the same way.
    """

    cursor: Cursor
    query: str
    covariates: "Sequence[_Numbered]"
    goals: Sequence[int]

    @classmethod
    @contextmanager
    def open(
        cls,
        visitors: SelectedVisitors,
        goals: Sequence[SummedGoal],
        *,
        covariates: Sequence[str],
        choose: ChooseCategories,
        last_day: int | None = None,
    ) -> Iterator[Self]:
        """Number the categories of visitors.

        Covariates are dimensions, custom ones as `custom:<key>`. Categories are numbered as `choose` lists
        them; all other values share one more. Only visitors first exposed up to `last_day`, where given.
        """
        cursor, columns, rows = visitors.cursor, visitors.columns, visitors.rows(last_day)
        counted = counted_goals(goals, columns)
        caps = caps_of(cursor, visitors.experiment_id, counted, visitors.variants)
        numbered = [_Numbered.of(cursor, visitors.experiment_id, name, rows, choose) for name in covariates]
        values = [value for goal in counted for value in value_columns(goal, caps.get(goal.place), columns)]
        numbers = [
            f"coalesce(n{i}.category, {one.unknown})::INTEGER AS c{i}" for i, one in enumerate(numbered)
        ]
        joins = [
            f"LEFT JOIN categories_{i} n{i} ON v.{one.column} = n{i}.code" for i, one in enumerate(numbered)
        ]
        query = f"""
            SELECT variant, {", ".join([*numbers, *values])}
            FROM (SELECT * FROM {rows}) v
            {" ".join(joins)}
        """
        with ExitStack() as stack:
            for place, one in enumerate(numbered):
                stack.enter_context(registered(cursor, f"categories_{place}", one.codes))
            yield cls(cursor, query, numbered, [goal.place for goal in counted])

    def read_sums(self) -> CategorySums:
        """Sum up the visitors by each covariate, and count them by each two."""
        names = [f"c{place}" for place in range(len(self.covariates))]
        sums = [f"sum({name}_{goal})" for goal in self.goals for name in GoalSums._fields]
        cells = [
            CategoryCell(
                variant,
                *grouped[0],
                int(visitors),
                {
                    goal: GoalSums(*map(int, found[3 * place : 3 * place + 3]))
                    for place, goal in enumerate(self.goals)
                },
            )
            for variant, grouped, (visitors, *found) in self._grouped([(name,) for name in names], sums)
        ]
        pairs = [
            CategoryPair(variant, (one[0], two[0]), (one[1], two[1]), int(visitors))
            for variant, (one, two), (visitors,) in self._grouped(list(combinations(names, 2)), [])
        ]
        return CategorySums([one.size for one in self.covariates], cells, pairs)

    def read_products(self, indexes: Mapping[int, GoalIndex]) -> dict[tuple[int, int], dict[str, float]]:
        """Sum up PRODUCTS with the index of each goal, by goal and variant."""
        if not indexes:
            return {}
        weights = [
            pl.DataFrame(
                {f"w_{goal}": index.by_category[place] for goal, index in indexes.items()}
            ).with_row_index("category")
            for place in range(len(self.covariates))
        ]
        with ExitStack() as stack:
            for place, frame in enumerate(weights):
                stack.enter_context(registered(self.cursor, f"weights_{place}", frame))
            joins = [f"JOIN weights_{i} w{i} ON w{i}.category = c{i}" for i in range(len(weights))]
            values = [part for goal, index in indexes.items() for part in self._centred(goal, index)]
            sums = [
                f"sum({' * '.join(f'{one}_{goal}' for one in name)})" for goal in indexes for name in PRODUCTS
            ]
            rows = self.cursor.execute(
                f"""
                SELECT variant, {", ".join(sums)} FROM (
                  SELECT variant, {", ".join(values)} FROM ({self.query}) v {" ".join(joins)}
                ) GROUP BY variant
                """
            ).fetchall()
        size = len(PRODUCTS)
        return {
            (goal, int(variant)): dict(zip(PRODUCTS, numbers[size * place : size * (place + 1)], strict=True))
            for variant, *numbers in rows
            for place, goal in enumerate(indexes)
        }

    def _centred(self, goal: int, index: GoalIndex) -> Iterator[str]:
        weights = [f"w{place}.w_{goal}" for place in range(len(self.covariates))]
        past = f"{index.of_past!r} * z_{goal}::DOUBLE"
        yield f"({' + '.join([past, *weights])} - {index.centre!r}) AS x_{goal}"
        for name, centre, unit in zip("yd", index.centres, index.units, strict=True):
            yield f"({name}_{goal}::DOUBLE / {unit:d} - {centre!r}) AS {name}_{goal}"

    def _grouped(
        self, sets: Sequence[tuple[str, ...]], sums: Sequence[str]
    ) -> Iterator[tuple[int, list[tuple[int, int]], list[int]]]:
        """Yield each variant of a set, with its categories by covariate, and its visitors and sums."""
        if not sets:
            return
        names = [f"c{place}" for place in range(len(self.covariates))]
        rows = self.cursor.execute(
            f"""
            SELECT {", ".join(["variant", *names, "count(*)", *sums])} FROM ({self.query})
            GROUP BY GROUPING SETS ({", ".join(f"(variant, {', '.join(each)})" for each in sets)})
            """
        ).fetchall()
        for variant, *numbers in rows:
            of_rows = numbers[: len(names)]
            # Covariates that the row is not grouped by are null.
            pairs = [(place, int(number)) for place, number in enumerate(of_rows) if number is not None]
            yield int(variant), pairs, numbers[len(names) :]


class _Numbered(NamedTuple):
    """Categories of a covariate: the number of each `code` of its column, and that of an unknown value."""

    column: str
    codes: pl.DataFrame
    unknown: int
    size: int

    @classmethod
    def of(
        cls, cursor: Cursor, experiment_id: str, covariate: str, rows: str, choose: ChooseCategories
    ) -> "_Numbered":
        column = CUSTOM if covariate.startswith(CUSTOM_PREFIX) else covariate
        key = covariate.removeprefix(CUSTOM_PREFIX)
        value = "s.value" if column != CUSTOM else "json_extract_string(s.value, ?)"
        found = fetch_frame(
            cursor,
            f"""
            SELECT v.code, nullif({value}, '') AS value, v.visitors FROM (
              SELECT {column} AS code, count(*)::BIGINT AS visitors FROM {rows} GROUP BY ALL
            ) v LEFT JOIN {result_table("segment_values", experiment_id)} s
              ON s.dimension = '{column}' AND s.code = v.code
            """,
            [json_pointer(key)] if column == CUSTOM else None,
        )
        counts = found.group_by("value").agg(pl.col("visitors").sum().alias("count"))
        categories = choose(counts)
        numbers = pl.DataFrame({"value": categories}).with_row_index("category")
        others = len(categories)
        codes = found.join(numbers, on="value", how="left", nulls_equal=True).with_columns(
            pl.col("category").fill_null(others)
        )
        unknown = numbers.filter(pl.col("value").is_null())["category"]
        return cls(
            column,
            codes.drop_nulls("code").select("code", "category"),
            int(unknown[0]) if len(unknown) else others,
            others + (counts.height > others),
        )
