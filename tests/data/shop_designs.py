"""The experiments of the stored shop, as they are sent to the API."""

from typing import Any, Final

PROJECT: Final[dict[str, Any]] = {
    "name": "Outdoor shop",
    "url": "https://shop.example",
    "reporting_timezone": "America/New_York",
    "integrations": {"ga4": {"enabled": True, "measurement_id": "G-ABC1234567"}},
    "environments": [{"key": "staging", "name": "Staging", "hostnames": ["staging.shop.example"]}],
    "settings": {
        "revenue_currency": "USD",
        "attribution_window_days": 10,
        "excluded_ips": ["192.0.2.0/24"],
        "domains": ["shop.example"],
    },
}
_ORDER: Final[dict[str, Any]] = {
    "name": "Order placed",
    "goal_type": "custom_event",
    "is_primary": True,
    "config": {"event_name": "purchase"},
}
_REVENUE: Final[dict[str, Any]] = {"name": "Revenue", "goal_type": "revenue", "config": {}}
_CAPPED: Final[dict[str, Any]] = {
    "name": "Capped revenue",
    "goal_type": "revenue",
    "config": {"cap_percentile": 95, "min_cents": 500, "max_cents": 500_000},
}
_PER_ORDER: Final[dict[str, Any]] = {
    "name": "Order value",
    "goal_type": "revenue",
    "config": {"per": "order", "event_name": "purchase", "currency": "USD"},
}
_CART: Final[dict[str, Any]] = {
    "name": "Cart viewed",
    "goal_type": "pageview",
    "config": {"url": "https://shop.example/cart*", "match_type": "wildcard", "guardrail_margin_percent": 10},
}
_ERRORS: Final[dict[str, Any]] = {
    "name": "Errors seen",
    "goal_type": "custom_event",
    "config": {"event_name": "error", "direction": "decrease", "guardrail_margin_percent": 25},
}
_CLICK: Final[dict[str, Any]] = {
    "name": "Buy clicked",
    "goal_type": "click",
    "config": {"selector": "#buy", "url": "https://shop.example/product"},
}
_SIGN_UP: Final[dict[str, Any]] = {
    "name": "Sign-up",
    "goal_type": "ga4_event",
    "config": {"event_name": "sign_up", "value_param": "value"},
}
_HEADLINE: Final = [{"selector": "h1", "action": "modify_text", "value": "Pack for the mountains"}]


def _arms(*names: str, weights: tuple[float, ...] = ()) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "is_control": place == 0,
            "weight": weights[place] if weights else 1,
            "changes": _HEADLINE if place else [],
        }
        for place, name in enumerate(names)
    ]


DESIGNS: Final[dict[str, dict[str, Any]]] = {
    # Running, three variants, frequentist, with guardrails and what visitors did before.
    "checkout": {
        "name": "Checkout",
        "hypothesis": "Fewer steps lead more visitors to an order.",
        "variants": _arms("Three steps", "Two steps", "One page", weights=(2, 1, 1)),
        "goals": [_ORDER, _REVENUE, _CAPPED, _PER_ORDER, _CART, _ERRORS, _CLICK, _SIGN_UP],
        "statistics": {"cuped": True, "pre_period_days": 14, "correction": "holm"},
        "traffic_allocation": 80,
        "url_match_type": "starts_with",
        "url_rules": [{"type": "exclude", "match_type": "contains", "value": "/admin"}],
    },
    # Completed, Bayesian, with a prior on the lift.
    "banner": {
        "name": "Banner",
        "variants": _arms("No banner", "Banner"),
        "goals": [{**_REVENUE, "is_primary": True}, {**_ORDER, "is_primary": False}],
        "analysis_method": "bayesian",
        "confidence_level": 90,
        "statistics": {"prior": "lift", "prior_lift_percent": 1, "prior_deviation_percent": 8},
    },
    "recommendations": {
        "name": "Recommendations",
        "variants": _arms("No list", "Popular", "Personal"),
        "goals": [_ORDER, _REVENUE, _CART],
        "traffic_strategy": "bandit",
        "analysis_method": "bayesian",
    },
    "shipping": {
        "name": "Shipping",
        "variants": _arms("Paid", "Free"),
        "goals": [_ORDER, _REVENUE, _ERRORS],
        "statistics": {"sequential": "always_valid", "cuped": True, "pre_period_days": 10},
        "targeting_rules": {
            "version": 2,
            "root": {
                "operator": "or",
                "children": [
                    {"field": "country", "operator": "in", "values": ["US", "CA"]},
                    {"field": "custom_dimension", "operator": "equals", "key": "plan", "values": ["pro"]},
                ],
            },
        },
    },
    "search": {
        "name": "Search",
        "variants": _arms("Old", "New", "New with images"),
        "goals": [{**_REVENUE, "is_primary": True}, {**_ORDER, "is_primary": False}, _SIGN_UP],
        "statistics": {"sequential": "group_sequential", "planned_sample": 6000},
        "confidence_level": 80,
    },
    # Paused, its weights changed by hand on the way.
    "footer": {
        "name": "Footer",
        "variants": _arms("Short", "Long"),
        "goals": [_ORDER, {**_CAPPED, "config": {"cap_percentile": 90}}, _CLICK],
        "analysis_method": "bayesian",
    },
    # Running, Bayesian, with a prior from before the experiment.
    "reviews": {
        "name": "Reviews",
        "variants": _arms("Below", "Above"),
        "goals": [_ORDER, _CAPPED],
        "analysis_method": "bayesian",
        "statistics": {"prior": "pre_period", "pre_period_days": 7},
    },
    # Archived.
    "gallery": {
        "name": "Gallery",
        "variants": _arms("Small", "Medium", "Large", weights=(1, 1, 2)),
        "goals": [{**_CART, "is_primary": True, "config": {"url": "https://shop.example/cart"}}, _REVENUE],
        "statistics": {"correction": "dunnett"},
    },
    # A draft.
    "newsletter": {
        "name": "Newsletter",
        "type": "visual",
        "variants": _arms("Text", "Images"),
        "goals": [_SIGN_UP],
        "stop_conditions": {"visitor_limit": 20_000, "conversion_limit": 500, "auto_stop_on_winner": True},
    },
    # Scheduled, for a time that no test reaches.
    "holidays": {
        "name": "Holidays",
        "variants": _arms("Plain", "Festive"),
        "goals": [_ORDER],
        "scheduled_start_at": "2199-12-01T00:00:00Z",
        "scheduled_end_at": "2199-12-24T00:00:00Z",
    },
}
