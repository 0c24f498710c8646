"""Orders in another currency than the project's, over HTTP: told, and counted once a rate is there."""

from typing import Any

import pytest

from tests.api.customers import Customer
from tests.api.shops import Shop

GOALS = [{"name": "Revenue", "goal_type": "revenue", "is_primary": True, "config": {}}]


@pytest.fixture
def shop(customer: Customer, project: str) -> Shop:
    return Shop.opened_by(customer, project, customer.an_experiment(project, goals=GOALS))


def test_orders_without_a_rate_are_told_and_count_once_there_is_one(shop: Shop, project: str) -> None:
    results = f"{project}/experiments/{shop.experiment['id']}/results"
    exposures = [shop.exposure(f"x{number}", visitor_id=f"v{number}") for number in range(250)]
    assert shop.post("/api/v1/sdk/track", {"batch": exposures}).json()["accepted"] == 250
    orders = [
        {
            "event_id": f"o{number}",
            "visitor_id": f"v{number}",
            "event_name": "purchase",
            "revenue_cents": 1000,
            "currency": "EUR",
        }
        for number in range(250)
    ]
    answer = shop.post("/api/v1/sdk/convert", {"batch": orders}).json()
    assert (answer["accepted"], answer["rejected"]) == (250, 0)
    assert {(one["status"], one["code"]) for one in answer["results"]} == {("ok", "other_currency")}
    assert "exchange_rates" in answer["results"][0]["message"]

    before = shop.customer.data_of(results)
    assert _told(before) == ("alarm", 0)
    changed = shop.customer.patch(project, {"settings": {"exchange_rates": {"EUR": 1.08}}})
    assert changed.status_code == 200, changed.text
    assert _told(shop.customer.data_of(results)) == ("ok", 250 * 1080)
    answer = shop.post("/api/v1/sdk/convert", {"batch": [{**orders[0], "event_id": "again"}]}).json()
    assert answer["results"][0]["code"] is None


def _told(data: dict[str, Any]) -> tuple[str, int]:
    check = next(one for one in data["health"] if one["check"] == "other_currencies")
    (variants,) = data["variants"].values()
    assert {one["currency"] for one in variants} == {"USD"}
    return check["status"], sum(one["revenue_cents"] for one in variants)


def test_rates_that_are_none_are_refused(customer: Customer, project: str) -> None:
    answer = customer.patch(project, {"settings": {"exchange_rates": {"EURO": 1, "EUR": -1}}})
    assert answer.status_code == 422
    fields = [one["field"] for one in answer.json()["error"]["details"]]
    assert fields == ["settings.exchange_rates.EURO", "settings.exchange_rates.EUR"]
