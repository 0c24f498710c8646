"""A stranger with the public key against the service on a real port."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.customers import Customer
from tests.api.shops import Shop
from tests.waiting import wait_until

TRACK = "/api/v1/sdk/track"
CONVERT = "/api/v1/sdk/convert"
REVENUE = {"name": "Revenue", "goal_type": "revenue", "is_primary": True, "config": {}}
ORDERS = range(1000, 1500)
CENTS = 5_000
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def shop(customer: Customer) -> Shop:
    project = customer.a_project()
    return Shop.opened_by(customer, project, customer.an_experiment(project, goals=[REVENUE]))


def results_of(shop: Shop) -> dict[str, Any]:
    return shop.customer.data_of(f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results")


def sum_of(shop: Shop, name: str) -> int:
    (variants,) = results_of(shop)["variants"].values()
    return sum(variant[name] for variant in variants)


def sent(
    shop: Shop, path: str, events: list[dict[str, Any]], *, server: bool = False, **headers: str
) -> None:
    """Send events, and require that each is taken."""
    for start in range(0, len(events), 500):
        batch = events[start : start + 500]
        if server:
            body = {"batch": batch, "project_id": shop.project_id}
            answer = shop.customer.call("POST", path.removeprefix("/api/v1"), json=body)
        else:
            answer = shop.post(path, {"batch": batch}, User_Agent=FIREFOX, **headers)
        assert answer.json()["accepted"] == len(batch)


def orders(prefix: str, numbers: range, cents: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {
            "event_id": f"{prefix}{number}",
            "visitor_id": f"v{number}",
            "event_name": "purchase",
            "revenue_cents": cents,
            "transaction_id": str(number),
            **fields,
        }
        for number in numbers
    ]


def test_500_sequential_order_ids_of_a_stranger_erase_no_order(shop: Shop) -> None:
    customers = [shop.exposure(f"seen{number}", visitor_id=f"v{number}") for number in ORDERS]
    sent(shop, TRACK, [*customers, shop.exposure("stranger", visitor_id="stranger")])
    known, coming = ORDERS[:250], ORDERS[250:]
    forged: dict[str, Any] = {"cents": 1, "visitor_id": "stranger"}
    sent(shop, CONVERT, orders("order-", known, CENTS), server=True)
    # The event ids of the server are guessed, too.
    sent(shop, CONVERT, orders("forged-", ORDERS, **forged))
    sent(shop, CONVERT, orders("order-", ORDERS, **forged))
    sent(shop, CONVERT, orders("back-", ORDERS, CENTS, visitor_id="stranger", kind="refund"))
    sent(shop, CONVERT, orders("order-", coming, CENTS), server=True)

    wait_until(lambda: sum_of(shop, "revenue_cents") == len(ORDERS) * CENTS)
    rebuilt = shop.customer.services.rollup.rebuild(shop.project_id)
    assert rebuilt.drifted == ()
    assert sum_of(shop, "revenue_cents") == len(ORDERS) * CENTS


def test_1000_forged_visitors_are_a_warning_that_names_their_sender(shop: Shop) -> None:
    now = datetime.now(UTC)
    variants = [variant["id"] for variant in shop.experiment["variants"]]
    for number in range(200):
        moment = (now - timedelta(minutes=3 * number + 2)).isoformat()
        event = shop.exposure(
            f"e{number}", visitor_id=f"v{number}", variant_id=variants[number % 2], timestamp=moment
        )
        sent(shop, TRACK, [event], X_Forwarded_For=f"192.0.2.{number}")
    wait_until(lambda: sum_of(shop, "visitors") == 200)
    health = {one["check"]: one for one in results_of(shop)["health"]}
    assert {health[name]["status"] for name in ("visitors_by_address", "bursts")} == {"ok"}

    forged = [
        shop.exposure(f"f{number}", visitor_id=f"f{number}", variant_id=variants[number % 2])
        for number in range(1_000)
    ]
    sent(shop, TRACK, forged, X_Forwarded_For="198.51.100.7")
    wait_until(lambda: sum_of(shop, "visitors") == 1_200)

    health = {one["check"]: one for one in results_of(shop)["health"]}
    by_address = health["visitors_by_address"]
    assert (by_address["status"], by_address["details"]["visitors"]) == ("warning", 1_000)
    assert by_address["details"]["sender"] == "browser"
    assert health["bursts"]["status"] == "warning"
    assert "sender 'browser'" in health["bursts"]["message"]
