"""Goals of every measure for property tests of counting, and the rows of events drawn for them."""

from typing import Any

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from pipeline.store.event_columns import EventRow
from tests.pipeline.working_store import an_event


def goals(prefix: str, value_param: str, **of_revenue: Any) -> tuple[Goal, ...]:
    kinds: list[tuple[Any, dict[str, Any]]] = [
        ("revenue", {"min_cents": 200, **of_revenue}),
        ("custom_event", {"event_name": "purchase", "window": 3}),
        ("pageview", {"url": "https://shop.example/thanks"}),
        ("click", {"selector": "#buy"}),
        ("ga4_event", {"event_name": "purchase", "value_param": value_param}),
        ("custom_event", {"event_name": "purchase", "measure": "count", "window": 1}),
        ("ga4_event", {"event_name": "purchase", "measure": "value", "value_param": value_param}),
        (
            "custom_event",
            {
                "event_name": "purchase",
                "measure": "ratio",
                "numerator": "value",
                "window": 4,
                "denominator": {"event_name": "purchase"},
            },
        ),
        (
            "click",
            {
                "selector": "#buy",
                "measure": "ratio",
                "denominator": {
                    "goal_type": "ga4_event",
                    "event_name": "purchase",
                    "measure": "value",
                    "value_param": value_param,
                },
            },
        ),
        (
            "pageview",
            {"url": "https://shop.example/thanks", "measure": "retained", "from_day": 1, "to_day": 8},
        ),
        (
            "ga4_event",
            {
                "event_name": "purchase",
                "value_param": value_param,
                "measure": "funnel",
                "window": 5,
                "steps": [{"goal_type": "pageview", "url": "https://shop.example/thanks"}],
            },
        ),
        (
            "pageview",
            {
                "url": "https://shop.example/thanks",
                "measure": "funnel",
                "steps": [
                    {"goal_type": "custom_event", "event_name": "purchase"},
                    {"goal_type": "click", "selector": "#buy"},
                ],
            },
        ),
        ("ga4_event", {"event_name": "purchase", "measure": "distinct", "field": "custom:tax/net"}),
        (
            "ga4_event",
            {"event_name": "purchase", "measure": "quantile", "value_param": value_param, "window": 5},
        ),
        ("custom_event", {"event_name": "purchase", "measure": "quantile", "q": 0.3, "of": "event"}),
        (
            "custom_event",
            {"event_name": "purchase", "measure": "distinct", "field": "transaction_id", "window": 6},
        ),
    ]
    return tuple(
        Goal(id=f"{prefix}_{number}", name=str(number), goal_type=kind, config=config, is_primary=number == 0)
        for number, (kind, config) in enumerate(kinds)
    )


def row_of(fields: dict[str, Any], experiments: list[Experiment]) -> EventRow:
    fields = dict(fields)
    if "shown" in fields:
        number, variant = fields.pop("shown")
        fields |= {
            "experiment_id": experiments[number].id,
            "variant_id": experiments[number].variants[variant].id,
        }
    if "goal" in fields:
        number, goal = fields.pop("goal")
        fields["goal_id"] = experiments[number].goals[goal].id
    return an_event(fields.pop("kind"), fields.pop("visitor"), **fields)
