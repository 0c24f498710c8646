"""Sample goals: every measure that SQL can count, and its options."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

_GOALS: Final[Sequence[Mapping[str, Any]]] = (
    {"config": {"event_name": "purchase"}},
    {"goal_type": "revenue", "config": {}},
    {"goal_type": "revenue", "config": {"currency": "EUR", "min_cents": 500}},
    {"goal_type": "revenue", "config": {"cap_percentile": 90, "max_cents": 10**11}},
    {"goal_type": "revenue", "config": {"per": "order"}},
    {"config": {"event_name": "view", "measure": "count", "cap_percentile": 80}},
    {"config": {"event_name": "cart", "measure": "value", "window": 3}},
    {"config": {"event_name": "purchase", "measure": "value"}},
    {"config": {"event_name": "view", "measure": "distinct", "field": "custom:page"}},
    {"config": {"event_name": "purchase", "measure": "distinct", "field": "transaction_id"}},
    {
        "config": {
            "event_name": "purchase",
            "measure": "ratio",
            "numerator": "value",
            "denominator": {"event_name": "view"},
        }
    },
    {"config": {"event_name": "view", "measure": "retained", "from_day": 1, "to_day": 3}},
    {"config": {"event_name": "cart", "window": 5}},
    {
        "config": {
            "event_name": "purchase",
            "measure": "funnel",
            "steps": [{"event_name": "view"}, {"event_name": "cart"}],
        }
    },
    {"goal_type": "ga4_event", "config": {"event_name": "purchase"}},
)


def a_draft(random: Random) -> dict[str, Any]:
    """Draft an experiment with up to three of the goals, half of them with CUPED."""
    chosen = random.sample(_GOALS, random.randint(1, 3))
    goals = [
        {"goal_type": "custom_event", "name": f"Goal {place}", "is_primary": place == 0, **fields}
        for place, fields in enumerate(chosen)
    ]
    return {
        "name": "Checkout button",
        "goals": goals,
        "variants": [{"name": name, "is_control": name == "Control"} for name in ("Control", "Treatment")],
        "statistics": {"cuped": random.random() < 0.5},
    }
