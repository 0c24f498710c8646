"""Parts of the answer: sums of visitors, cohorts, days and products, grouped by every segment at once."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

from sqlglot import exp

from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from engine.measures.sums import MONEY, SUMS
from pipeline.warehouse.counted_events import CountedEvents
from pipeline.warehouse.dialects.dialect import Expr
from pipeline.warehouse.expressions import (
    NULL,
    added,
    big,
    choose,
    clamped,
    col,
    high_part,
    num,
    table,
    text,
    third_parts,
    wide,
)
from pipeline.warehouse.goal_rules import GoalSums
from pipeline.warehouse.visitor_outcomes import VisitorOutcomes

Kind = Literal["visitors", "cohorts", "conversions", "days", "since", "products", "cap", "steps"]
_PERCENT_PLACES: Final = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Meaning of a number in a part: what it adds to, of a goal by its `place` and of one of its sums."""

    number: str
    place: int | None = None
    sum: str | None = None
    is_high: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SumPart:
    """A part of the answer: its rows, and the meaning of its numbers in their order."""

    kind: Kind
    labels: tuple[Label, ...]
    numbers: tuple[Expr, ...]
    relation: str
    day: Expr
    place: int | None = None
    value: Expr | None = None
    condition: Expr | None = None
    by_segment: bool = True

    def select(self, outcomes: VisitorOutcomes, experiment: int, width: int) -> exp.Select:
        """Build its SELECT, of an experiment by its number; those beyond its own numbers are null."""
        dialect, nothing = outcomes.dialect, exp.cast(NULL.copy(), exp.DataType.build("BIGINT"))
        # The widest part is first, and its types are those of all.
        empty = [NULL.copy() for _ in range(width - len(self.numbers))]
        place = nothing if self.place is None else num(self.place)
        segments = outcomes.dimensions if self.by_segment else ()
        keys = [col("variant"), self.day, *([self.value] if self.value is not None else [])]
        rows = exp.select(
            big(experiment).as_("experiment", quoted=True),
            text(self.kind).as_("kind", quoted=True),
            _dimension(segments).as_("dimension", quoted=True),
            (text(self.value.copy()) if self.value is not None else _value(segments)).as_(
                "value", quoted=True
            ),
            big(col("variant")).as_("variant", quoted=True),
            big(place).as_("goal", quoted=True),
            big(self.day.copy()).as_("day", quoted=True),
            *(
                one.as_(f"n{number}", quoted=True, copy=False)
                # As text no driver makes a double of a whole number.
                for number, one in enumerate((*(text(wide(dialect, own)) for own in self.numbers), *empty))
            ),
        ).from_(table(self.relation), copy=False)
        if self.condition is not None:
            rows = rows.where(self.condition.copy())
        sets = [keys, *([*keys, col(name)] for name in segments)]
        tuples = [exp.Tuple(expressions=[one.copy() for one in group]) for group in sets]
        rows.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=tuples)]))
        return rows


def sum_parts(
    outcomes: VisitorOutcomes, events: CountedEvents, relation: str, primary: GoalSums | None
) -> Iterator[SumPart]:
    """Yield the sums: visitors, cohorts, conversions and values by day, and days since exposure."""
    goals = outcomes.goals
    yield SumPart(
        kind="visitors",
        labels=(Label(number="visitors"),),
        numbers=(exp.Count(this=exp.Star()),),
        relation="visitors",
        day=col("first_day"),
    )
    cohorts = [pair for goal in goals for pair in _of_cohort(outcomes, goal)]
    yield SumPart(
        kind="cohorts",
        labels=tuple(label for label, _ in cohorts),
        numbers=tuple(number for _, number in cohorts),
        relation="powers",
        day=col("first_day"),
    )
    for goal in goals:
        yield SumPart(
            kind="conversions",
            labels=(Label(number="conversions", place=goal.place, sum=MONEY.name),),
            numbers=(exp.Count(this=exp.Star()),),
            relation="outcomes",
            day=outcomes.day(col(f"at_{goal.place}")),
            place=goal.place,
            condition=_converted(goal),
        )
    days = [pair for goal in goals for pair in _of_days(outcomes, events, goal)]
    yield SumPart(
        kind="days",
        labels=tuple(label for label, _ in days),
        numbers=tuple(number for _, number in days),
        relation=relation,
        day=outcomes.day(col("at")),
        condition=col("is_before").eq(num(0)),
    )
    if primary is not None:
        since = exp.paren(outcomes.day(col(f"at_{primary.place}")) - col("first_day"))
        yield SumPart(
            kind="since",
            labels=(Label(number="cohort_conversions", place=primary.place, sum=MONEY.name),),
            numbers=(exp.Count(this=exp.Star()),),
            relation="outcomes",
            day=col("first_day"),
            place=primary.place,
            value=since,
            condition=exp.and_(_converted(primary), since.copy() < num(MOST_DAYS)),
            by_segment=False,
        )


def _converted(goal: GoalSums) -> Expr:
    return exp.Not(this=col(f"at_{goal.place}").is_(NULL.copy()))


def summed(goal: GoalSums, name: str) -> Expr:
    """Build what a sum adds up of a visitor."""
    terms = SUMS[name].columns
    first = col(f"{terms[0][0]}_{goal.place}")
    return added([first, *(col(f"{column}_{goal.place}") * num(sign) for column, sign in terms[1:])])


def powers(outcomes: VisitorOutcomes) -> tuple[exp.Select, exp.Select]:
    """Select what cohorts add up: values `v`, those of cubes `k`, and the high part `h` of k · k."""
    dialect = outcomes.dialect
    names = [(goal, name) for goal in outcomes.goals for name in goal.sums]
    values = [
        column
        for goal, name in names
        for column in (
            wide(dialect, summed(goal, name)).as_(f"v_{name}_{goal.place}", quoted=True),
            clamped(dialect, summed(goal, name)).as_(f"k_{name}_{goal.place}", quoted=True),
        )
    ]
    highs = [
        high_part(dialect, own, own).as_(f"h_{name}_{goal.place}", quoted=True)
        for goal, name in names
        for own in [col(f"k_{name}_{goal.place}")]
    ]
    return (
        exp.select(exp.Star(), *values).from_(table("outcomes"), copy=False),
        exp.select(exp.Star(), *highs).from_(table("visitor_values"), copy=False),
    )


def _of_cohort(outcomes: VisitorOutcomes, goal: GoalSums) -> Iterator[tuple[Label, Expr]]:
    """Yield the numbers of a goal by the day of first exposure."""
    dialect = outcomes.dialect
    for name in goal.sums:
        if name == MONEY.name:
            once = choose((_converted(goal), big(1)), otherwise=big(0))
            yield Label(number="cohort_conversions", place=goal.place, sum=name), exp.Sum(this=once)
        column = f"{name}_{goal.place}"
        own, square, high = (col(f"{letter}_{column}") for letter in "vkh")
        cubed_high, cubed_low = third_parts(dialect, [square] * 3, high)
        numbers = {
            "cohort_total": own,
            "cohort_squared": own * own,
            "cohort_cubed_high": cubed_high,
            "cohort_cubed_low": cubed_low,
        }
        for number, one in numbers.items():
            yield Label(number=number, place=goal.place, sum=name), exp.Sum(this=one)


def _of_days(
    outcomes: VisitorOutcomes, events: CountedEvents, goal: GoalSums
) -> Iterator[tuple[Label, Expr]]:
    """Yield the numbers of a goal by the day of each event."""
    by_event = outcomes.by_event(events, goal)
    for name in goal.sums:
        (column, _), *others = SUMS[name].columns
        if not others:
            total = exp.Sum(this=wide(outcomes.dialect, by_event[column].copy()))
            yield Label(number="total", place=goal.place, sum=name), total


def product_parts(outcomes: VisitorOutcomes, products: Mapping[int, Sequence[str]]) -> Iterator[SumPart]:
    """Yield the products of the values of visitors, those of goals by their places."""
    numbers: list[tuple[Label, Expr]] = []
    for place, names in products.items():
        for name in names:
            numbers += _product(outcomes, place, name)
    yield SumPart(
        kind="products",
        labels=tuple(label for label, _ in numbers),
        numbers=tuple(number for _, number in numbers),
        relation="valued",
        day=col("first_day"),
    )


def _product(outcomes: VisitorOutcomes, place: int, name: str) -> Iterator[tuple[Label, Expr]]:
    dialect = outcomes.dialect
    if name == "capped":
        is_capped = wide(dialect, col(f"raw_{place}")) > col(f"y_{place}")
        once = choose((is_capped, big(1)), otherwise=big(0))
        yield Label(number=name, place=place), exp.Sum(this=once)
        return
    if len(name) < 3:
        first, *others = (col(f"{letter}_{place}") for letter in name)
        yield Label(number=name, place=place), exp.Sum(this=reduce(operator.mul, others, first))
        return
    factors = [col(f"k{letter}_{place}") for letter in name]
    high, low = third_parts(dialect, factors, col(f"h{name[1:]}_{place}"))
    yield Label(number=name, place=place, is_high=True), exp.Sum(this=high)
    yield Label(number=name, place=place), exp.Sum(this=low)


def cap_of(percentile: float, value: Expr) -> exp.Select:
    """Select the smallest value above 0 of a visitor with that percentile of them at or below it."""
    in_order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
    # Spark's row numbers have 32 bits.
    place = big(exp.Window(this=exp.RowNumber(), order=in_order))
    everyone = exp.Window(this=exp.Count(this=exp.Star()))
    positive = exp.select(
        value.as_("y", quoted=True), place.as_("place", quoted=True), everyone.as_("visitors", quoted=True)
    ).from_(table("outcomes"), copy=False)
    ranked = positive.where(value > num(0)).subquery("ranked")
    share = num(round(percentile * _PERCENT_PLACES))
    reached = col("place") * num(100 * _PERCENT_PLACES) >= col("visitors") * share
    lowest = exp.Min(this=col("y")).as_("cap", quoted=True)
    keys = (big(0).as_(name, quoted=True) for name in ("variant", "first_day"))
    return exp.select(*keys, lowest).from_(ranked, copy=False).where(reached)


def _dimension(segments: Sequence[str]) -> Expr:
    """Number the dimension that a row is grouped by; -1 for everyone."""
    cases = [(_is_grouped(name), big(place)) for place, name in enumerate(segments)]
    return choose(*cases, otherwise=big(-1))


def _value(segments: Sequence[str]) -> Expr:
    cases = [(_is_grouped(name), col(name)) for name in segments]
    return choose(*cases, otherwise=exp.cast(NULL.copy(), "TEXT"))


def _is_grouped(name: str) -> Expr:
    return exp.Anonymous(this="GROUPING", expressions=[col(name)]).eq(num(0))
