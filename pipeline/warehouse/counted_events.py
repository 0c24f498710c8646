"""Events that count for goals: matched once for all of them, with the money and the amount of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.currencies import MAX_MINOR_UNITS
from pipeline.rollup.counting_rules import CountingRules
from pipeline.warehouse.dialects.dialect import Expr
from pipeline.warehouse.expressions import (
    NULL,
    big,
    choose,
    col,
    every,
    half_away,
    half_even,
    num,
    numbered,
    table,
)
from pipeline.warehouse.goal_rules import GoalRule
from pipeline.warehouse.team_tables import EVENT_ORDER, TeamTables

_NO: Expr = big(0)


@dataclass(frozen=True, slots=True)
class CountedEvents:
    """Events of `tables` that match the `rules`, for projects with the counting rules `project`."""

    tables: TeamTables
    rules: Sequence[GoalRule]
    project: CountingRules

    def hits(self) -> exp.Select:
        """Select the events, with `m` (1 where one matches a rule), `c` (cents) and `a` (amount) of each."""
        kept = [*EVENT_ORDER, "is_refund", *(["url"] if self._reads_url else []), *self._fields]
        flags = [
            column
            for rule in self.rules
            for column in (
                self._matches(rule).as_(f"m_{rule.column}", quoted=True),
                self._signed(rule).as_(f"c_{rule.column}", quoted=True),
            )
        ]
        names = sorted({rule.event_name for rule in self.rules})
        return (
            exp.select(*map(col, kept), col("is_plain"), *flags)
            .from_(table("events"), copy=False)
            .where(col("name").isin(*names))
        )

    def orders_once(self) -> exp.Select:
        """Number the orders of each transaction that match a rule, apart from all other events."""
        places = []
        for rule in self._distinct_orders():
            is_order = every((col(f"m_{rule.column}").eq(num(1)), col("is_refund").eq(num(0))))
            partition = [col("transaction_id"), choose((is_order, big(1)), otherwise=_NO)]
            order = [col(name) for name in EVENT_ORDER]
            places.append(numbered(partition, order).as_(f"p_{rule.column}", quoted=True))
        return exp.select(exp.Star(), *places).from_(table("hits"), copy=False)

    def counts(self, rule: GoalRule) -> Expr:
        """Tell whether an event counts for a rule, whenever it happened."""
        is_match = col(f"m_{rule.column}").eq(num(1))
        if not self.tables.has_transactions:
            return is_match
        is_first = exp.or_(
            col("transaction_id").is_(NULL.copy()),
            col("is_refund").eq(num(1)),
            col(f"p_{self._like(rule).column}").eq(num(1)),
        )
        return every((is_match, is_first))

    def _like(self, rule: GoalRule) -> GoalRule:
        """Return the first rule that the same orders count for."""
        return next(one for one in self.rules if one.orders == rule.orders)

    def _distinct_orders(self) -> list[GoalRule]:
        return [rule for rule in self.rules if self._like(rule) is rule]

    def amount(self, rule: GoalRule) -> Expr:
        """Build the amount of an event that counts, before distinct values are told apart."""
        if rule.units_of_cent is None:
            return choose((col("is_refund").eq(num(1)), _NO.copy()), otherwise=big(1))
        of_plain = half_away(exp.paren(col("value") * num(float(rule.minor_units))))
        of_order = col(f"c_{rule.column}") * num(rule.units_of_cent)
        most = num(MAX_MINOR_UNITS)
        is_known = of_order.between(exp.Neg(this=most), most)
        return choose(
            (every((col("is_plain").eq(num(1)), self._is_within(of_plain))), big(of_plain)),
            (every((col("is_plain").eq(num(0)), is_known)), big(of_order)),
            otherwise=_NO,
        )

    def field(self, rule: GoalRule) -> Expr:
        """Name the column whose distinct values a rule counts."""
        name = rule.field or ""
        if name in {"url", "transaction_id"}:
            return col(name)
        return col(f"f{self.tables.fields.index(name)}")

    @property
    def _fields(self) -> Iterator[str]:
        named = (rule.field for rule in self.rules if rule.field in self.tables.fields)
        return (f"f{self.tables.fields.index(name)}" for name in dict.fromkeys(named) if name is not None)

    @property
    def _reads_url(self) -> bool:
        return any(rule.field == "url" for rule in self.rules)

    @staticmethod
    def _is_within(units: Expr) -> Expr:
        most = num(float(MAX_MINOR_UNITS))
        return units.copy().between(exp.Neg(this=most.copy()), most)

    def _matches(self, rule: GoalRule) -> Expr:
        tests: list[Expr] = [col("name").eq(exp.convert(rule.event_name))]
        if not rule.takes_plain:
            tests.append(col("is_plain").eq(num(0)))
        if rule.is_revenue:
            bounds = self._cents(rule).between(num(rule.min_cents), num(rule.max_cents))
            tests += [self._in_currency(rule), bounds]
        return choose((every(tests), big(1)), otherwise=_NO.copy())

    def _signed(self, rule: GoalRule) -> Expr:
        cents = self._cents(rule)
        return choose((col("is_refund").eq(num(1)), big(exp.Neg(this=cents))), otherwise=big(cents.copy()))

    def _cents(self, rule: GoalRule) -> Expr:
        """Build the money of an event that a rule counts, without its sign."""
        exact = self._exact(rule)
        cases = [
            (
                every((col("currency").eq(exp.convert(code)), self._is_within(product))),
                big(half_even(product)),
            )
            for code, product in exact.items()
        ]
        # Only what is in the goal's currency, or in none, counts as it is.
        same = exp.or_(col("currency").is_(NULL.copy()), col("currency").eq(exp.convert(rule.goal_currency)))
        cases.append((exp.paren(same), _filled_cents()))
        of_order = choose(*cases, otherwise=_NO.copy())
        if not rule.takes_value:
            return of_order
        of_plain = big(exp.Abs(this=half_away(exp.paren(col("value") * num(float(rule.minor_units))))))
        filled = exp.Coalesce(this=of_plain, expressions=[big(0)])
        return choose((col("is_plain").eq(num(1)), filled), otherwise=of_order)

    def _in_currency(self, rule: GoalRule) -> Expr:
        known = [self._is_given(code, product) for code, product in self._exact(rule).items()]
        same = col("currency").eq(exp.convert(rule.goal_currency))
        return exp.paren(exp.or_(col("currency").is_(NULL.copy()), same, *known))

    def _is_given(self, code: str, product: Expr) -> Expr:
        return every((col("currency").eq(exp.convert(code)), self._is_within(product)))

    def _exact(self, rule: GoalRule) -> Mapping[str, Expr]:
        """Map each other currency with a rate to the cents in the goal's, before they are rounded."""
        factors = self.project.factors.iter_rows()
        return {
            code: exp.paren(exp.cast(_filled_cents(), "DOUBLE") * num(factor))
            for code, wanted, factor in factors
            if wanted == rule.goal_currency
        }


def _filled_cents() -> Expr:
    return big(exp.Coalesce(this=col("cents"), expressions=[big(0)]))
