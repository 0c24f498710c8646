"""Visitors and their outcomes: the first exposure of each, and what its events add up to by goal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.design.experiment import Experiment
from pipeline.rollup.counting_rules import SEVERAL_VARIANTS, CountingRules, period_of
from pipeline.warehouse.counted_events import CountedEvents
from pipeline.warehouse.dialects.dialect import Dialect, Expr
from pipeline.warehouse.expressions import (
    NULL,
    big,
    choose,
    col,
    every,
    local_day,
    num,
    numbered,
    table,
    text,
)
from pipeline.warehouse.goal_rules import GoalRule, GoalSums
from pipeline.warehouse.small_values import merged_values, with_merged_values
from pipeline.warehouse.team_tables import EVENT_ORDER, TeamTables

WEEKEND = "weekend"
_NO: Expr = big(0)
_KEYS = ("visitor", "variant", "first_day")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorOutcomes:
    """Visitors of an experiment and their outcomes on `goals`, of events up to `until` (microseconds).

    Segment values of fewer than `least_visitors` count as one.
    """

    experiment: Experiment
    tables: TeamTables
    rules: CountingRules
    goals: Sequence[GoalSums]
    dialect: Dialect
    until: int
    least_visitors: int

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Columns of a visitor's segments."""
        return (*self.segments, WEEKEND)

    @property
    def segments(self) -> tuple[str, ...]:
        """Columns of the segments that exposures have."""
        return tuple(f"d{place}" for place, _ in enumerate(self.tables.segments))

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of a visitor."""
        return (*_KEYS, *self.dimensions)

    def day(self, moment: Expr) -> Expr:
        """Take a moment of the experiment to its local day."""
        first, _ = period_of(self.experiment)
        return local_day(self.dialect, moment, first, self.until, self.rules.timezone)

    def ranked_exposures(self) -> exp.Select:
        """Number the exposures of each visitor in the period of the experiment, from the first on."""
        first, _ = period_of(self.experiment)
        segments = self.segments
        order = [col(name) for name in ("at", "event_id", "variant", *segments)]
        mine = [col("visitor")]
        counted = every(
            (
                col("at").between(num(first), num(self.until)),
                exp.Not(this=col("variant").is_(NULL.copy())),
                exp.Not(this=col("visitor").is_(NULL.copy())),
            )
        )
        spread = {"lowest": exp.Min, "highest": exp.Max}
        return (
            exp.select(
                *(col(name) for name in ("visitor", "variant", "at", *segments)),
                numbered(mine, order).as_("place", quoted=True),
                *(
                    exp.Window(this=of(this=col("variant")), partition_by=[one.copy() for one in mine]).as_(
                        name, quoted=True
                    )
                    for name, of in spread.items()
                ),
            )
            .from_(table("exposures"), copy=False)
            .where(counted)
        )

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Columns of a visitor as it is read."""
        return (*_KEYS, "first_at", *self.dimensions)

    def visitors(self) -> Iterator[tuple[str, exp.Select]]:
        """Yield `visitors`, of those in `visitors_read`, and the relations that it is made of."""
        yield from merged_values(self.segments, len(self.experiment.variants), self.least_visitors)
        yield "visitors", with_merged_values(self.segments, (*_KEYS, "first_at", WEEKEND))

    def visitors_read(self) -> exp.Select:
        """Select a row of each visitor: variant, first exposure and its local day, and segments."""
        day = self.day(col("at"))
        is_weekend = exp.paren(exp.paren(day.copy() + num(3)) % num(7)) >= num(5)
        weekend = choose((is_weekend, text("weekend")), otherwise=text("weekday"))
        is_several = col("lowest") < col("highest")
        variant = choose((is_several, big(SEVERAL_VARIANTS)), otherwise=big(col("lowest")))
        return (
            exp.select(
                col("visitor"),
                variant.as_("variant", quoted=True),
                col("at").as_("first_at", quoted=True),
                day.as_("first_day", quoted=True),
                *map(col, self.segments),
                weekend.as_(WEEKEND, quoted=True),
            )
            .from_(table("ranked_exposures"), copy=False)
            .where(col("place").eq(num(1)))
        )

    def joined(
        self, events: CountedEvents, relation: str, *, visitors: str, keys: Sequence[str]
    ) -> exp.Select:
        """Join visitors, with their columns `keys`, and their events.

        `t` is 1 for an event that counts for a rule, -1 for one before.
        """
        since = exp.paren(col("at", "e") - col("first_at", "v"))
        rules = events.rules
        most = max(rule.window_us for rule in rules)
        before = max(rule.before_us for rule in rules)
        kept = [*(name for name in EVENT_ORDER if name != "visitor"), "is_refund"]
        fields = [events.field(rule) for rule in rules if rule.field is not None]
        kept += [one.name for one in fields if one.name not in kept]
        times = [self._time(events, rule, since).as_(f"t_{rule.column}", quoted=True) for rule in rules]
        money = [col(f"c_{rule.column}", "e").as_(f"c_{rule.column}", quoted=True) for rule in rules]
        amounts = [
            _of_events(events.amount(rule)).as_(f"a_{rule.column}", quoted=True)
            for rule in rules
            if rule.has_amounts
        ]
        is_before = choose((since.copy() < num(0), big(1)), otherwise=_NO.copy())
        return (
            exp.select(
                *(col(name, "v").as_(name, quoted=True) for name in keys),
                *(col(name, "e").as_(name, quoted=True) for name in dict.fromkeys(kept)),
                is_before.as_("is_before", quoted=True),
                *times,
                *money,
                *amounts,
            )
            .from_(table(visitors).as_("v"))
            .join(
                table(relation).as_("e"),
                on=every(
                    (
                        col("visitor", "v").eq(col("visitor", "e")),
                        since.copy().between(num(-before), num(most)),
                        col("at", "e") <= num(self.until),
                    )
                ),
            )
            .where(col("variant", "v") < num(len(self.experiment.variants)))
        )

    def steps_reached(self) -> Iterator[exp.Select]:
        """Find when each visitor reached each step of funnels, one step after the other."""
        relation = "joined"
        funnels = [goal for goal in self.goals if goal.steps]
        for step in range(max((len(goal.steps) for goal in funnels), default=0)):
            found = [
                self._reached(goal, step).as_(f"s{step}_{goal.place}", quoted=True)
                for goal in funnels
                if step < len(goal.steps)
            ]
            yield exp.select(exp.Star(), *found).from_(table(relation), copy=False)
            relation = f"steps_{step}"

    def distinct_values(self, events: CountedEvents, relation: str) -> exp.Select | None:
        """Number the events with one value of a field; None where no goal counts distinct values."""
        rules = [rule for rule in events.rules if rule.field is not None]
        if not rules:
            return None
        order = [col(name) for name in ("at", *EVENT_ORDER[1:])]
        places = [
            numbered(
                [
                    *(col("visitor"), col("is_before"), events.field(rule)),
                    choose((self._has_value(events, rule), big(1)), otherwise=_NO.copy()),
                ],
                order,
            ).as_(f"n_{rule.column}", quoted=True)
            for rule in rules
        ]
        return exp.select(exp.Star(), *places).from_(table(relation), copy=False)

    def outcomes(self, events: CountedEvents, relation: str) -> exp.Select:
        """Add up the events of each visitor by goal: see `engine.measures.sums`, and `at` and `before`."""
        columns = [
            expression.as_(f"{name}_{goal.place}", quoted=True)
            for goal in self.goals
            for name, expression in self._added(events, goal).items()
        ]
        keys = [col(name) for name in self.keys]
        return (
            exp.select(*keys, *columns)
            .from_(table(relation), copy=False)
            .group_by(*(one.copy() for one in keys))
        )

    def by_event(self, events: CountedEvents, goal: GoalSums) -> Mapping[str, Expr]:
        """Map the columns of a goal that add up by day to what an event since exposure adds to each."""
        own = self._is_counted(goal, 1)
        found = {"cents": choose((own, col(f"c_{goal.own.column}")), otherwise=_NO.copy())}
        if goal.own.has_amounts:
            found["amount"] = choose((own.copy(), self._amount(events, goal.own)), otherwise=_NO.copy())
        if goal.denominator is not None:
            is_divisor = col(f"t_{goal.denominator.column}").eq(num(1))
            divisor = self._amount(events, goal.denominator)
            found["denominator"] = choose((is_divisor, divisor), otherwise=_NO.copy())
        return found

    def _added(self, events: CountedEvents, goal: GoalSums) -> Mapping[str, Expr]:
        converting = self._converts(goal, 1)
        at = choose((converting, col("at")), otherwise=exp.cast(NULL.copy(), "BIGINT"))
        found: dict[str, Expr] = {"at": exp.Min(this=at)}
        for name, one in self.by_event(events, goal).items():
            found[name] = big(exp.Sum(this=one))
        if "orders" in goal.columns:
            found["orders"] = big(exp.Sum(this=choose((converting.copy(), big(1)), otherwise=_NO.copy())))
        if goal.own.before_us:
            found["before"] = self._before(events, goal)
        return found

    def _before(self, events: CountedEvents, goal: GoalSums) -> Expr:
        """Build the outcome before the first exposure: an amount, cents, or 1 with a conversion."""
        own = self._is_counted(goal, -1)
        if goal.own.has_amounts:
            return big(exp.Sum(this=choose((own, self._amount(events, goal.own)), otherwise=_NO.copy())))
        if goal.own.is_revenue:
            return big(exp.Sum(this=choose((own, col(f"c_{goal.own.column}")), otherwise=_NO.copy())))
        once = every((own, col("is_refund").eq(num(0))))
        return big(exp.Max(this=choose((once, big(1)), otherwise=_NO.copy())))

    def _time(self, events: CountedEvents, rule: GoalRule, since: Expr) -> Expr:
        counts = _of_events(events.counts(rule))
        after = every((counts, since.copy().between(num(rule.from_us), num(rule.window_us))))
        cases = [(after, big(1))]
        if rule.before_us:
            before = every((counts.copy(), since.copy().between(num(-rule.before_us), num(-1))))
            cases.append((before, big(-1)))
        return choose(*cases, otherwise=_NO.copy())

    def _converts(self, goal: GoalSums, time: int) -> Expr:
        counted = (
            self._is_counted(goal, time)
            if goal.denominator is None
            else col(f"t_{goal.denominator.column}").eq(num(time))
        )
        return every((counted, col("is_refund").eq(num(0))))

    def _is_counted(self, goal: GoalSums, time: int) -> Expr:
        """Tell whether an event counts for a goal: of a funnel, after all steps before."""
        counted = col(f"t_{goal.own.column}").eq(num(time))
        if not goal.steps:
            return counted
        return every((counted, col("at") >= col(f"s{len(goal.steps) - 1}_{goal.place}")))

    def _reached(self, goal: GoalSums, step: int) -> Expr:
        rule = next(one for one in goal.steps if one.step == step)
        tests = [exp.Not(this=col(f"t_{rule.column}").eq(num(0))), col("is_refund").eq(num(0))]
        if step:
            tests.append(col("at") >= col(f"s{step - 1}_{goal.place}"))
        at = choose((every(tests), col("at")), otherwise=exp.cast(NULL.copy(), "BIGINT"))
        return exp.Window(this=exp.Min(this=at), partition_by=[col("visitor"), col("is_before")])

    def _has_value(self, events: CountedEvents, rule: GoalRule) -> Expr:
        return every(
            (
                exp.Not(this=col(f"t_{rule.column}").eq(num(0))),
                col("is_refund").eq(num(0)),
                exp.Not(this=events.field(rule).is_(NULL.copy())),
            )
        )

    def _amount(self, events: CountedEvents, rule: GoalRule) -> Expr:
        if rule.field is None:
            return col(f"a_{rule.column}")
        is_first = every((self._has_value(events, rule), col(f"n_{rule.column}").eq(num(1))))
        return choose((is_first, big(1)), otherwise=_NO.copy())


def _of_events(expression: Expr) -> Expr:
    """Name the columns of an expression as those of the events that are joined."""
    for column in expression.find_all(exp.Column):
        column.set("table", exp.to_identifier("e"))
    return expression
