"""Orders in currencies that a goal does not count."""

from collections.abc import Mapping

from engine.analysis.evidence.other_currencies import OtherCurrencies
from engine.design.exchange_rates import minor_unit_factors
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from pipeline.rollup.counting_rules import LEFT_OUT, CountingRules, period_of
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.order_currencies import Orders, count_orders, find_currencies
from pipeline.store.warehouse.published import Published


def read_other_currencies(
    cursor: Cursor, experiment: Experiment, published: Published
) -> tuple[OtherCurrencies, ...]:
    """Count, for each revenue goal that was counted, the orders in currencies without an exchange rate."""
    counted = _counted_currencies(experiment, published)
    if not counted:
        return ()
    orders = Orders(experiment.project_id, period_of(experiment), published.covered_seq)
    # Mostly there are none, which one look at the orders of all goals tells.
    named = find_currencies(cursor, orders._replace(except_in=frozenset.intersection(*counted.values())))
    found = []
    for place, currencies in counted.items():
        goal = experiment.goals[place]
        if not any(_is_of(goal, *one) and code not in currencies for *one, code in named):
            continue
        of_goal = {
            "experiment_id": experiment.id,
            "goal_id": goal.id,
            "event_name": goal.tracking["event_name"],
            "left_out": min(LEFT_OUT),
        }
        others = count_orders(cursor, orders._replace(except_in=currencies), **of_goal)
        if others:
            total = sum(count_orders(cursor, orders, **of_goal).values())
            by_currency = {code: number for code, number in others.items() if code is not None}
            found.append(OtherCurrencies(goal=place, orders=total, others=by_currency))
    return tuple(found)


def _is_of(goal: Goal, goal_id: str | None, event_name: str | None) -> bool:
    """Tell whether orders with this goal and event are of the goal, as `count_orders` does."""
    return event_name == goal.tracking["event_name"] if goal_id is None else goal_id == goal.id


def _counted_currencies(experiment: Experiment, published: Published) -> Mapping[int, frozenset[str]]:
    """Map the revenue goals that were counted, by place, to the currencies that count for them."""
    rules = CountingRules.from_json(published.rules)
    rates = dict(rules.exchange_rates)
    found = {}
    for place, goal in enumerate(experiment.goals):
        if goal.goal_type == "revenue" and goal.id in published.goals:
            own = goal.currency(rules.currency)
            found[place] = frozenset({own, *minor_unit_factors(rules.currency, rates, own)})
    return found
