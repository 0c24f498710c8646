"""Statement of experiments: one SELECT of the team's tables, whose rows are sums and never visitors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sqlglot import exp

from engine.analysis.comparison.plan import primary_row
from engine.design.experiment import Experiment
from pipeline.results.outside.needed_products import products_of
from pipeline.rollup.counting_rules import CountingRules, period_of
from pipeline.rollup.goals.summed_goals import goals_needing_values
from pipeline.store.warehouse.value_sums import THIRDS, SummedGoal
from pipeline.warehouse.dialects.dialect import Dialect, Expr
from pipeline.warehouse.expressions import (
    NULL,
    big,
    choose,
    clamped,
    col,
    high_part,
    num,
    relation_name,
    table,
    wide,
)
from pipeline.warehouse.goal_rules import goal_rules
from pipeline.warehouse.read_relations import event_relations, events_that_count, visitor_relations
from pipeline.warehouse.shared_relations import Relations, shared_relations
from pipeline.warehouse.small_values import LEAST_VISITORS
from pipeline.warehouse.sum_parts import Label, SumPart, cap_of, powers, product_parts, sum_parts
from pipeline.warehouse.team_tables import TeamTables
from pipeline.warehouse.visitor_outcomes import VisitorOutcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement for a dialect, with the meaning of its numbers by experiment, kind of row and goal."""

    tree: exp.Query
    dialect: Dialect
    experiments: tuple[Experiment, ...]
    labels: Mapping[tuple[int, str, int | None], tuple[Label, ...]]
    dimensions: tuple[str, ...]

    def sql(self, *, pretty: bool = False) -> str:
        """Write it in its dialect."""
        return self.tree.sql(self.dialect.name, pretty=pretty)

    def planned_sql(self) -> str:
        """Write what its engine plans in full, and ends before the first row is read."""
        rows = exp.select(exp.Star()).from_(self.tree.subquery("planned"), copy=False)
        return rows.where(num(1).eq(num(0))).sql(self.dialect.name)


def statement_of(
    tables: TeamTables,
    counted: Sequence[tuple[Experiment, CountingRules]],
    dialect: Dialect,
    *,
    now_us: int,
    least_visitors: int = LEAST_VISITORS,
) -> Statement:
    """Build the statement that counts experiments, each by its rules, of events up to `now_us` (epoch µs).

    Events are read once for all of them. Segment values of fewer than `least_visitors` count as one, OTHER.
    UncountableError where SQL cannot say a goal, UnreadableQueryError for a query that is no SELECT.
    """
    counts = []
    for experiment, rules in counted:
        outcomes = outcomes_of(
            tables, experiment, rules, dialect, now_us=now_us, least_visitors=least_visitors
        )
        visitors = visitor_relations(outcomes) | dict(outcomes.visitors())
        events, last = event_relations(outcomes, visitors="visitors", keys=outcomes.keys)
        counts.append(Count.of(outcomes, visitors | events, last))
    return statement_of_counts(counts)


def outcomes_of(  # noqa: PLR0913 # what is counted where, by which rules
    tables: TeamTables,
    experiment: Experiment,
    rules: CountingRules,
    dialect: Dialect,
    *,
    now_us: int,
    least_visitors: int = LEAST_VISITORS,
) -> VisitorOutcomes:
    """Build the outcomes of an experiment's visitors, of events up to `now_us`; UncountableError."""
    return VisitorOutcomes(
        experiment=experiment,
        tables=tables,
        rules=rules,
        goals=goal_rules(experiment, rules, tables.events),
        dialect=dialect,
        until=min(now_us, period_of(experiment)[1]),
        least_visitors=least_visitors,
    )


def statement_of_counts(counts: "Sequence[Count]") -> Statement:
    """Build the statement that answers the parts of counts in the same tables and dialect."""
    tables, dialect = counts[0].outcomes.tables, counts[0].outcomes.dialect
    numbered_parts = [(number, part) for number, one in enumerate(counts) for part in one.parts]
    # The widest part is first, and its types are those of all.
    numbered_parts.sort(key=lambda pair: -len(pair[1].numbers))
    width = len(numbered_parts[0][1].numbers)
    selects = [part.select(counts[number].outcomes, number, width) for number, part in numbered_parts]
    own = [
        (
            one.relations,
            [select for select, (of, _) in zip(selects, numbered_parts, strict=True) if of == number],
        )
        for number, one in enumerate(counts)
    ]
    relations = shared_relations(own, dialect)
    tree: exp.Query = exp.union(*selects, distinct=False, copy=False)
    for name, relation in relations.items():
        tree.with_(relation_name(name), as_=relation, copy=False)
    return Statement(
        tree=tree,
        dialect=dialect,
        experiments=tuple(one.outcomes.experiment for one in counts),
        labels={(number, part.kind, part.place): part.labels for number, part in numbered_parts},
        dimensions=(*tables.segments, "day_of_week"),
    )


@dataclass(frozen=True, slots=True)
class Count:
    """Count of an experiment: its relations by name, and the parts of its answer."""

    outcomes: VisitorOutcomes
    relations: Relations
    parts: list[SumPart]

    @classmethod
    def of(cls, outcomes: VisitorOutcomes, read: Relations, last: str) -> Self:
        """Build the count of what was `read`: `visitors`, and their events in the relation `last`."""
        experiment, goals, events = outcomes.experiment, outcomes.goals, events_that_count(outcomes)
        relations = {**read, "outcomes": outcomes.outcomes(events, last)}
        relations["visitor_values"], relations["powers"] = powers(outcomes)
        primary = primary_row(experiment)
        parts = [*sum_parts(outcomes, events, last, None if primary is None else goals[primary])]
        ids = [goal.id for goal in experiment.goals]
        if valued := goals_needing_values(experiment, ids):
            relations |= _values(experiment, outcomes, valued)
            parts += _product_parts(experiment, outcomes, valued)
        return cls(outcomes, relations, parts)


def _values(experiment: Experiment, outcomes: VisitorOutcomes, valued: Sequence[SummedGoal]) -> Relations:
    """Build the values of visitors whose products are summed, with their caps."""
    found: Relations = {}
    columns: list[Expr] = []
    factors: list[Expr] = []
    highs: list[Expr] = []
    for one in valued:
        raw, cap = _raw(one), None
        if one.cap_percentile is not None and one.column is not None:
            found[f"cap_{one.place}"] = cap_of(one.cap_percentile, raw)
            cap = exp.select(col("cap")).from_(table(f"cap_{one.place}"), copy=False).subquery()
        values = _letters(experiment, one, raw, cap)
        named = {letter: wide(outcomes.dialect, value) for letter, value in values.items()}
        columns += [
            raw.as_(f"raw_{one.place}", quoted=True),
            *(value.as_(f"{letter}_{one.place}", quoted=True) for letter, value in named.items()),
        ]
        factors += [
            clamped(outcomes.dialect, col(f"{letter}_{one.place}")).as_(f"k{letter}_{one.place}", quoted=True)
            for letter in values
        ]
        thirds = {name[1:] for name in products_of(experiment, one) if name in {"yyy", *THIRDS}}
        highs += [
            high_part(outcomes.dialect, *(col(f"k{letter}_{one.place}") for letter in pair)).as_(
                f"h{pair}_{one.place}", quoted=True
            )
            for pair in sorted(thirds)
        ]
    found["raw_products"] = exp.select(exp.Star(), *columns).from_(table("outcomes"), copy=False)
    found["clamped"] = exp.select(exp.Star(), *factors).from_(table("raw_products"), copy=False)
    found["valued"] = exp.select(exp.Star(), *highs).from_(table("clamped"), copy=False)
    return found


def _letters(experiment: Experiment, one: SummedGoal, raw: Expr, cap: Expr | None) -> dict[str, Expr]:
    """Map y, d and z, where a goal has them, to the value, the orders and the value before exposure."""
    found = {"y": _capped(raw, cap)}
    if experiment.goals[one.place].measure.is_ratio:
        found["d"] = col(f"{'denominator' if one.has_denominator else 'orders'}_{one.place}")
    if experiment.statistics.uses_pre_period:
        found["z"] = _capped(col(f"before_{one.place}"), cap)
    return found


def _raw(one: SummedGoal) -> Expr:
    if one.has_amounts:
        return col(f"amount_{one.place}")
    if one.is_revenue:
        return col(f"cents_{one.place}")
    return choose((col(f"at_{one.place}").is_(NULL.copy()), big(0)), otherwise=big(1))


def _capped(value: Expr, cap: Expr | None) -> Expr:
    if cap is None:
        return value.copy()
    return choose((value.copy() > cap.copy(), big(cap.copy())), otherwise=big(value.copy()))


def _product_parts(
    experiment: Experiment, outcomes: VisitorOutcomes, valued: Sequence[SummedGoal]
) -> Iterator[SumPart]:
    yield from product_parts(outcomes, {one.place: products_of(experiment, one) for one in valued})
    for one in valued:
        if one.cap_percentile is not None and one.column is not None:
            yield SumPart(
                kind="cap",
                labels=(Label(number="cap", place=one.place),),
                numbers=(exp.Max(this=col("cap")),),
                relation=f"cap_{one.place}",
                day=col("first_day"),
                place=one.place,
                by_segment=False,
            )
