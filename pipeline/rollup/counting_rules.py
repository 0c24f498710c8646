"""Counting rules of an experiment, and a fingerprint that changes with them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Final, Self

import msgspec
import polars as pl

from engine.currencies import minor_units
from engine.design.exchange_rates import minor_unit_factors
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.goals import counts_money
from engine.design.project import Project
from engine.design.units import is_clustered, unit_attribute, unit_name
from engine.local_days import epoch_microseconds
from engine.measures.sums import VALUE_UNIT
from pipeline.rollup.goals.counted_goals import counted_goals
from pipeline.rollup.goals.goal_money import units_of_cent
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX, json_pointer

# Part of every fingerprint: raise it when the same events would count differently from now on.
RULES_VERSION: Final = 5
# Stored instead of a variant's number for visitors counted in no variant. Visitor ids joined by a user id may
# each have seen one variant, and the user several. Where units are compared, a visitor belongs to one.
WITHOUT_UNIT: Final = 251
SEVERAL_UNITS: Final = 252
IDENTITY_CONFLICT: Final = 253
FLAGGED_AS_BOT: Final = 254
SEVERAL_VARIANTS: Final = 255
LEFT_OUT: Final = (WITHOUT_UNIT, SEVERAL_UNITS, IDENTITY_CONFLICT, FLAGGED_AS_BOT, SEVERAL_VARIANTS)
FOREVER: Final = 2**62
# The `value_param` that names the event's own value.
OWN_VALUE: Final = "value"
DAY_US: Final = 86_400_000_000
# Columns of `goal_rows` in which goals of one rule may differ.
NOT_OF_RULES: Final = (
    *("experiment", "goal", "is_denominator", "has_denominator", "step", "last_step", "before_us"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingRules:
    """Counting rules of a project; a completed experiment keeps the rules in force at its end."""

    timezone: str
    bot_filtering: bool
    window_us: int
    currency: str
    # Absent from rules stored by earlier versions.
    trusted_revenue: bool = False
    # By currency, in the order of their codes.
    exchange_rates: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, project: Project) -> Self:
        """Take the current rules of `project`."""
        days = project.attribution_window_days
        return cls(
            timezone=project.timezone,
            bot_filtering=project.bot_filtering,
            window_us=FOREVER if days is None else days * DAY_US,
            currency=project.revenue_currency,
            trusted_revenue=project.trusted_revenue,
            exchange_rates=_in_order(project.exchange_rates),
        )

    def with_rates_of(self, earlier: Self) -> Self:
        """Take the rates that an experiment was counted by before, and those of further currencies.

        Earlier rates into another currency say nothing any more.
        """
        if earlier.currency != self.currency:
            return self
        rates = _in_order({**dict(self.exchange_rates), **dict(earlier.exchange_rates)})
        return replace(self, exchange_rates=rates)

    @property
    def factors(self) -> pl.DataFrame:
        """What a minor unit of a `currency` is worth in those of a `goal_currency`, as `factor`."""
        return _factors(self.currency, self.exchange_rates)

    def to_json(self) -> str:
        """Encode the rules, to be stored beside the results counted by them."""
        return msgspec.json.encode(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Decode the text of `to_json`."""
        stored = msgspec.json.decode(text)
        return cls(**{**stored, "exchange_rates": _in_order(dict(stored.get("exchange_rates", ())))})


@lru_cache
def _factors(currency: str, exchange_rates: tuple[tuple[str, float], ...]) -> pl.DataFrame:
    rates = dict(exchange_rates)
    rows = [
        (code, wanted, factor)
        for wanted in {*rates, currency}
        for code, factor in minor_unit_factors(currency, rates, wanted).items()
    ]
    schema = {"currency": pl.String, "goal_currency": pl.String, "factor": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def fingerprint(experiment: Experiment, rules: CountingRules) -> str:
    """Hash all that counting depends on: it differs whenever the same events would count differently."""
    inputs = {
        "version": RULES_VERSION,
        "rules": _that_matter(rules),
        "variants": [variant.id for variant in experiment.variants],
        "goals": [(goal.id, goal.goal_type, goal.tracking) for goal in experiment.goals],
        # Its conversions are followed by days since exposure.
        "primary": [goal.id for goal in experiment.goals if goal.is_primary],
        "period": period_of(experiment),
        "pre_period": pre_period_us(experiment),
    }
    # Results of earlier versions lack the steps of funnels; others need no recount.
    if any("steps" in goal.measure.columns for goal in experiment.goals):
        inputs["columns"] = extra_columns(experiment)
    if is_clustered(experiment.unit):
        inputs["unit"] = [unit_name(experiment.unit), unit_attribute(experiment.unit) is None]
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()


def _that_matter(rules: CountingRules) -> dict[str, Any]:
    """Return the rules as earlier versions hashed them, where there are no exchange rates."""
    fields = asdict(rules)
    return fields if rules.exchange_rates else {k: v for k, v in fields.items() if k != "exchange_rates"}


def _in_order(rates: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((code, float(rate)) for code, rate in rates.items()))


def period_of(experiment: Experiment) -> tuple[int, int]:
    """Return the first and last microsecond since 1970 at which events count by receipt, inclusive."""
    edges = (experiment.started_at, experiment.completed_at)
    first, last = (FOREVER if edge is None else epoch_microseconds(edge) for edge in edges)
    return first, last


def pre_period_us(experiment: Experiment) -> int:
    """Return the length of the pre-period before the first exposure, in microseconds; 0 without one."""
    statistics = experiment.statistics
    return statistics.pre_period_days * DAY_US if statistics.uses_pre_period else 0


def extra_columns(experiment: Experiment) -> tuple[str, ...]:
    """Name the columns of visitor rows besides time, day and cents of each goal.

    `g<i>_before` is the outcome on goal i in the pre-period (1 or 0; cents for revenue; the amount of other
    measures), `g<i>_orders` the number of orders and `g<i>_amount` the amount since the first exposure: of a
    ratio that of the numerator, and `g<i>_denominator` that of the denominator. `g<i>_steps` is the number of
    steps reached of a funnel, all of them where the visitor converted.
    """
    before = ("before",) if experiment.statistics.uses_pre_period else ()
    return tuple(
        f"g{position}_{name}"
        for position, goal in enumerate(experiment.goals)
        for name in (*before, *goal.measure.columns)
    )


def variant_rows(experiments: Sequence[Experiment]) -> pl.DataFrame:
    """Build one row per variant: its ids, its numbers, and the period in which its exposures count."""
    return pl.DataFrame(
        [
            (experiment.id, variant.id, number, position, *period_of(experiment))
            for number, experiment in enumerate(experiments)
            for position, variant in enumerate(experiment.variants)
        ],
        schema={
            "experiment_id": pl.String,
            "variant_id": pl.String,
            "experiment": pl.UInt16,
            "variant": pl.UInt8,
            "received_from": pl.Int64,
            "received_until": pl.Int64,
        },
        orient="row",
    )


def goal_rows(
    experiments: Sequence[Experiment], rules: CountingRules, rule_numbers: Sequence[int]
) -> pl.DataFrame:
    """Build one row per counted goal of `counted_goals`: its numbers, and its currency and bounds.

    A revenue goal counts only orders of its currency, or of one with an exchange rate, within its bounds.
    Every other goal counts each of its events, and the revenue of those in the project's currency or with a
    rate. `before_us` is the length of the pre-period,
    `window_us` that of the time since the first exposure in which events count: the goal's window or the
    project's, whichever is shorter. They count `from_us` after it; those of retained goals to the end of
    their last day. `value_path` is the JSON pointer of the attribute with the money of an
    event, null for the event's value. `minor_units` are those in 1 of a tracked event's money, or VALUE_UNIT;
    `units_of_cent` are those of a value in a minor unit of the project's currency, null for other measures.
    `trusts_servers_only` holds where a browser's money does not count, and `has_amounts` where the goal's
    measure sums up amounts. `field` has the values that count once each: the name of a column, or the JSON
    pointer of an attribute; null where every event counts. `values_of` tells whether the values of a quantile
    are of the `visitor` or of each `event`; null for other measures. A denominator has the `goal` number of
    its ratio, and a step that of its funnel. Goals with one of the
    `rule_numbers` differ in NOT_OF_RULES only.
    """
    return pl.DataFrame(
        [
            (
                *(counted.experiment, counted.place, counted.is_denominator, counted.has_denominator),
                *(counted.step, counted.last_step),
                *(*_revenue_rules(counted.goal, rules), pre_period_us(experiments[counted.experiment])),
                *(*_days_us(counted.goal, rules), rules.trusted_revenue),
                counted.goal.summed is not None,
                _field_path(counted.goal),
                counted.goal.tracking["of"] if counted.goal.measure.is_quantile else None,
                units_of_cent(counted.goal, minor_units(rules.currency)),
            )
            for counted in counted_goals(experiments)
        ],
        schema={
            "experiment": pl.UInt16,
            "goal": pl.UInt8,
            "is_denominator": pl.Boolean,
            "has_denominator": pl.Boolean,
            "step": pl.UInt8,
            "last_step": pl.UInt8,
            "is_revenue": pl.Boolean,
            "takes_value": pl.Boolean,
            "value_path": pl.String,
            "goal_currency": pl.String,
            "minor_units": pl.Int64,
            "min_cents": pl.Int64,
            "max_cents": pl.Int64,
            "before_us": pl.Int64,
            "from_us": pl.Int64,
            "window_us": pl.Int64,
            "trusts_servers_only": pl.Boolean,
            "has_amounts": pl.Boolean,
            "field": pl.String,
            "values_of": pl.String,
            "units_of_cent": pl.Int64,
        },
        orient="row",
    ).with_columns(pl.Series("rule", rule_numbers, pl.UInt32))


def _days_us(goal: Goal, rules: CountingRules) -> tuple[int, int]:
    if (own_days := goal.measure.days(goal.tracking)) is not None:
        first, last = own_days
        return first * DAY_US, (last + 1) * DAY_US - 1
    days = goal.tracking.get("window")
    return 0, rules.window_us if days is None else min(rules.window_us, days * DAY_US)


def _field_path(goal: Goal) -> str | None:
    field = goal.field_of_events
    if field is None or not field.startswith(CUSTOM_PREFIX):
        return field
    return json_pointer(field.removeprefix(CUSTOM_PREFIX))


def _revenue_rules(goal: Goal, rules: CountingRules) -> tuple[bool, bool, str | None, str, int, int, int]:
    tracking = goal.tracking
    parameter = tracking.get("value_param", OWN_VALUE)
    currency = goal.currency(rules.currency)
    return (
        goal.goal_type == "revenue",
        counts_money(goal.goal_type, tracking),
        None if parameter == OWN_VALUE else json_pointer(parameter),
        currency,
        VALUE_UNIT if goal.summed == "value" else minor_units(currency),
        tracking.get("min_cents", 0),
        tracking.get("max_cents", FOREVER),
    )
