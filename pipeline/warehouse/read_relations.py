"""Relations that are read of a team's tables: visitors of an experiment, and their events that count."""

from collections.abc import Sequence

from sqlglot import exp

from pipeline.warehouse.counted_events import CountedEvents
from pipeline.warehouse.dialects.dialect import Expr
from pipeline.warehouse.expressions import NULL, col, every, table
from pipeline.warehouse.shared_relations import Relations
from pipeline.warehouse.team_tables import (
    EVENT_ORDER,
    event_columns,
    events_of,
    exposure_rows,
    exposures_of,
    firsts_of_ids,
)
from pipeline.warehouse.visitor_outcomes import VisitorOutcomes


def events_that_count(outcomes: VisitorOutcomes) -> CountedEvents:
    """Build the events that count for the goals of an experiment."""
    rules = [rule for goal in outcomes.goals for rule in goal.rules]
    return CountedEvents(outcomes.tables, rules, outcomes.rules)


def visitor_relations(outcomes: VisitorOutcomes, touched: str | None = None) -> Relations:
    """Build `visitors_read` and what it is made of, of the visitors in the relation `touched`, if any."""
    tables = outcomes.tables
    found: Relations = {"exposure_rows": exposure_rows(tables, outcomes.dialect)}
    exposures: exp.Expression = exposures_of(tables, outcomes.experiment)
    if touched is not None:
        found["all_exposures"] = exposures
        exposures = _rows_of("all_exposures", touched, has_transactions=False)
    columns = ["visitor", "variant", "at", "event_id", *outcomes.segments]
    order = ("at", "event_id", "visitor", "variant_name")
    has_ids = tables.exposures.columns.event_id is not None
    found |= _once("exposures", exposures, order, columns, has_ids=has_ids)
    found["ranked_exposures"] = outcomes.ranked_exposures()
    visitors = outcomes.visitors_read()
    found["visitors_read"] = visitors if touched is None else visitors.where(_is_in("visitor", touched))
    return found


def event_relations(
    outcomes: VisitorOutcomes, *, visitors: str, keys: Sequence[str], touched: str | None = None
) -> tuple[Relations, str]:
    """Build the events of the relation `visitors` that count, with its columns `keys`; and name the last one.

    Of the visitors in the relation `touched` alone, if any: with the rows that share an event id or a
    transaction with theirs, which decide whether those of theirs count.
    """
    tables, events = outcomes.tables, events_that_count(outcomes)
    rows = events_of(tables, outcomes.rules.currency, outcomes.dialect)
    has_ids = any(source.columns.event_id is not None for source in tables.events)
    found: Relations = {}
    if touched is not None:
        found["all_events"] = rows
        rows = _rows_of("all_events", touched, has_transactions=tables.has_transactions)
    found |= _once("events", rows, EVENT_ORDER, event_columns(tables), has_ids=has_ids)
    found["hits"] = events.hits()
    last = "hits"
    if tables.has_transactions:
        found["orders_once"], last = events.orders_once(), "orders_once"
    found["joined"], last = outcomes.joined(events, last, visitors=visitors, keys=keys), "joined"
    for step, reached in enumerate(outcomes.steps_reached()):
        last = f"steps_{step}"
        found[last] = reached
    if (distinct := outcomes.distinct_values(events, last)) is not None:
        found["distinct_values"], last = distinct, "distinct_values"
    return found, last


def keys_of(relation: str, key: str, condition: Expr) -> exp.Select:
    """Select the event ids or transactions of the rows of a relation for which a condition holds."""
    rows = exp.select(col(key)).from_(table(relation), copy=False)
    return rows.where(every((condition.copy(), exp.Not(this=col(key).is_(NULL.copy())))))


def is_one_of(column: str, rows: exp.Select) -> Expr:
    """Tell whether a column has a value that rows have."""
    return exp.In(this=col(column), query=rows.subquery())


def _is_in(column: str, relation: str) -> Expr:
    return is_one_of(column, exp.select(col(column)).from_(table(relation), copy=False))


def _rows_of(relation: str, touched: str, *, has_transactions: bool) -> exp.Select:
    """Select the rows of touched visitors, and all rows that decide which of them count."""
    own = _is_in("visitor", touched)
    tests, deciding = [own], own
    if has_transactions:
        # A repeat of a row may have another transaction than the row.
        same_id = exp.or_(own.copy(), is_one_of("event_id", keys_of(relation, "event_id", own)))
        orders = is_one_of("transaction_id", keys_of(relation, "transaction_id", same_id))
        tests.append(orders)
        deciding = exp.or_(own.copy(), orders.copy())
    tests.append(is_one_of("event_id", keys_of(relation, "event_id", deciding)))
    return exp.select(exp.Star()).from_(table(relation), copy=False).where(exp.or_(*tests))


def _once(
    name: str, rows: exp.Expression, order: Sequence[str], columns: Sequence[str], *, has_ids: bool
) -> Relations:
    """Keep each event id once, where the rows have ids."""
    if not has_ids:
        return {name: rows}
    ranked, chosen = firsts_of_ids(f"{name}_read", order, columns)
    return {f"{name}_read": rows, f"{name}_read_ranked": ranked, name: chosen}
