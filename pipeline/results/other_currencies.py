"""Orders in currencies that a goal does not count."""

from engine.analysis.evidence.other_currencies import OtherCurrencies
from engine.design.exchange_rates import minor_unit_factors
from engine.design.experiment import Experiment
from pipeline.rollup.counting_rules import LEFT_OUT, CountingRules, period_of
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.order_currencies import count_orders
from pipeline.store.warehouse.published import Published


def read_other_currencies(
    cursor: Cursor, experiment: Experiment, published: Published
) -> tuple[OtherCurrencies, ...]:
    """Count, for each revenue goal that was counted, the orders in currencies without an exchange rate."""
    rules = CountingRules.from_json(published.rules)
    rates = dict(rules.exchange_rates)
    found = []
    for place, goal in enumerate(experiment.goals):
        if goal.goal_type != "revenue" or goal.id not in published.goals:
            continue
        own = goal.currency(rules.currency)
        selected = {
            "goal_id": goal.id,
            "event_name": goal.tracking["event_name"],
            "received": period_of(experiment),
            "until": published.covered_seq,
            "left_out": min(LEFT_OUT),
        }
        ids = (experiment.project_id, experiment.id)
        counted = [own, *minor_unit_factors(rules.currency, rates, own)]
        others = count_orders(cursor, *ids, **selected, except_in=counted)
        if others:
            orders = sum(count_orders(cursor, *ids, **selected).values())
            by_currency = {code: number for code, number in others.items() if code is not None}
            found.append(OtherCurrencies(goal=place, orders=orders, others=by_currency))
    return tuple(found)
