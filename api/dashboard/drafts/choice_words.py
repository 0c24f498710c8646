"""Choices of the form of a draft in words, where their codes would have to be looked up."""

from collections.abc import Mapping
from typing import Final

from api.dashboard.drafts.ramp_fields import ON_HARM

CHOICE_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "type": {
        "visual": "change the page",
        "redirect": "lead to another address",
        "personalization": "change the page for some",
    },
    "unit": {"visitor": "browser", "user": "user who signs in", "attribute": "an attribute, as account"},
    "traffic_strategy": {"fixed": "stay as they are", "bandit": "move to the better variant"},
    ON_HARM: {"rollback": "roll back", "pause": "pause", "tell": "only tell"},
    "trigger": {
        "direct": "when the page opens",
        "manual": "when your code says so",
        "element_visible": "when an element is visible",
        "click": "when an element is clicked",
        "url_change": "when the address changes",
        "callback": "when your function agrees",
    },
    "goals[].goal_type": {
        "pageview": "a page is opened",
        "click": "something is clicked",
        "custom_event": "an event of your code",
        "revenue": "money of orders",
        "ga4_event": "a Google Analytics event",
    },
    "statistics.sequential": {
        "none": "as often as you like",
        "always_valid": "as often as you like, the first that is sure decides",
        "group_sequential": "some, up to the planned visitors",
    },
    "statistics.guardrails": {"not_harmed": "not shown to be harmed", "non_inferior": "shown to be safe"},
}
