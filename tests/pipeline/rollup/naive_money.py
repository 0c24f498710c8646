"""The money and the amount of an event that is of a goal, in plain Python."""

import json

from engine.currencies import minor_units
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.store.event_columns import EventRow

OF_VALUES = {"value", "quantile"}


def cents_of(goal: Goal, row: EventRow, project: Project) -> int | None:
    """The money of an event that is of a goal; None where it does not count for the goal after all."""
    config = goal.tracking
    currency = config.get("currency", project.revenue_currency)
    if row.type == "conversion":
        cents = abs(row.revenue_cents or 0)
    elif goal.goal_type == "revenue" or ("value_param" in config and goal.measure.word not in OF_VALUES):
        value = row.value
        if config.get("value_param", "value") != "value":
            value = _number(json.loads(row.custom or "{}").get(config["value_param"]))
        cents = abs(round((value or 0) * 10 ** (0 if currency == "JPY" else 2)))
    else:
        cents = 0
    if project.trusted_revenue and row.sender == "browser" and (cents or row.is_refund):
        return None if goal.goal_type == "revenue" else 0
    rates = {**project.exchange_rates, project.revenue_currency: 1.0}
    is_ours = row.currency in {None, currency}
    if row.currency in rates and currency in rates and not is_ours:
        units = minor_units(currency) / minor_units(row.currency)
        # Python rounds half to even.
        cents, is_ours = round(cents * (rates[row.currency] / rates[currency] * units)), True
    if goal.goal_type != "revenue":
        return cents if is_ours else 0
    inside = config.get("min_cents", 0) <= cents <= config.get("max_cents", cents)
    return cents if is_ours and inside else None


def amount_of(goal: Goal, row: EventRow, cents: int, project: Project) -> float:
    """The amount that a count or a value takes of an event; money is a conversion's value."""
    if goal.measure.word == "distinct":
        # Counted apart, once every event is known.
        return 0
    if goal.measure.word not in OF_VALUES:
        return 0 if row.is_refund else 1
    if row.type != "conversion":
        parameter = goal.tracking.get("value_param", "value")
        attributes = json.loads(row.custom or "{}")
        return (row.value or 0) if parameter == "value" else _number(attributes.get(parameter))
    units = 1 if project.revenue_currency == "JPY" else 100
    return (-cents if row.is_refund else cents) / units


def known_value(goal: Goal, row: EventRow, cents: int, project: Project) -> float | None:
    """The value of an event of a quantile; None without one, or with money that does not count."""
    given: float | None
    if row.type == "conversion":
        given = row.revenue_cents if cents or not row.revenue_cents else None
    else:
        parameter = goal.tracking.get("value_param", "value")
        given = row.value if parameter == "value" else _attribute(row, parameter)
    if given is None or (row.is_refund and goal.tracking["of"] == "event"):
        return None
    return amount_of(goal, row, cents, project)


def _attribute(row: EventRow, parameter: str) -> float | None:
    text = json.loads(row.custom or "{}").get(parameter)
    return None if text in {None, "none"} else float(text)


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0
