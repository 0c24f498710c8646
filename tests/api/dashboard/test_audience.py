"""Audience in words: share, page and targeting."""

from typing import Any

import pytest

from api.dashboard.audience import audience_in
from engine.design.targeting.rules import EVERYONE

COUNTRY = {"field": "country", "operator": "in", "values": ["DE", "AT", "CH"]}
PHONE = {"field": "device_type", "operator": "equals", "values": ["mobile"]}
MEMBER = {"field": "cookie", "key": "member", "operator": "exists", "values": []}
LARGE = {"field": "custom_dimension", "key": "cart_value", "operator": "gte", "values": [50]}


def rules(*children: dict[str, Any], operator: str = "and") -> dict[str, Any]:
    return {"targeting_rules": {"version": 2, "root": {"operator": operator, "children": children}}}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "all visitors of shop.example"),
        (rules(), "all visitors of shop.example"),
        ({"traffic_allocation": 20}, "20% of all visitors of shop.example"),
        (
            {"traffic_allocation": 20, **rules(COUNTRY)},
            "20% of visitors of shop.example whose country is DE, AT or CH",
        ),
        (
            rules(MEMBER, LARGE),
            "visitors of shop.example whose member is known and cart value is at least 50",
        ),
        (
            rules(PHONE, COUNTRY, MEMBER, LARGE),
            (
                "visitors of shop.example "
                "whose device type is mobile, country is DE, AT or CH and 2 more rules hold"
            ),
        ),
        (
            rules({**COUNTRY, "values": list("ABCDE")}),
            "visitors of shop.example whose country is A, B, C or 2 more",
        ),
        (
            rules(COUNTRY, PHONE, operator="or"),
            "visitors of shop.example whose attributes fit the targeting rules",
        ),
        (
            rules({"operator": "not", "children": [PHONE]}),
            "visitors of shop.example whose attributes fit the targeting rules",
        ),
        ({"url_rules": [{"type": "exclude"}]}, "all visitors of shop.example"),
        ({"url_rules": [{"type": "include"}]}, "all visitors of shop.example and other pages"),
        ({"url": "https://shop.example/" + "a" * 99}, f"all visitors of shop.example/{'a' * 34}…"),
    ],
)
def test_an_audience_is_said_with_its_share_its_page_and_its_rules(
    fields: dict[str, Any], words: str
) -> None:
    everybody = {"targeting_rules": EVERYONE, "url_rules": [], "traffic_allocation": 100}
    assert audience_in({"url": "https://shop.example/", **everybody, **fields}) == words
