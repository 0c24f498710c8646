from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from pipeline.store.warehouse import visitor_totals
from pipeline.store.warehouse.visitors import result_table
from tests.api.customers import Customer
from tests.api.request_bodies import PURCHASE
from tests.api.shops import Shop

NOTHING = {
    "total_experiments": 0,
    "running_experiments": 0,
    "total_visitors": 0,
    "total_conversions": 0,
    "visitors_30d": 0,
    "conversions_30d": 0,
    "experiments_counted_outside": 0,
}
_numbers = count()


def stats(customer: Customer, project: str) -> dict[str, int]:
    answer = customer.get(f"{project}/stats")
    assert answer.status_code == 200, answer.text
    data: dict[str, int] = answer.json()["data"]
    return data


def see(shop: Shop, *visitors: str, variant: int = 0, **fields: Any) -> None:
    batch = [
        shop.exposure(
            f"x{next(_numbers)}",
            visitor_id=visitor,
            variant_id=shop.experiment["variants"][variant]["id"],
            **fields,
        )
        for visitor in visitors
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": batch}).json()["accepted"] == len(batch)


def buy(shop: Shop, *visitors: str, event_name: str = "purchase") -> None:
    batch = [
        {"event_id": f"c{next(_numbers)}", "visitor_id": visitor, "event_name": event_name}
        for visitor in visitors
    ]
    assert shop.post("/api/v1/sdk/convert", {"batch": batch}).json()["accepted"] == len(batch)


def test_new_project_has_nothing(customer: Customer, project: str) -> None:
    assert stats(customer, project) == NOTHING


def test_experiments_are_counted_whatever_their_status(customer: Customer, project: str) -> None:
    _, running, archived = (customer.an_experiment(project) for _ in range(3))
    customer.post(f"{running}/start")
    for step in ("start", "complete", "archive"):
        customer.post(f"{archived}/{step}")
    assert stats(customer, project) == {**NOTHING, "total_experiments": 3, "running_experiments": 1}


def test_events_are_counted_as_soon_as_they_are_stored(customer: Customer, project: str) -> None:
    shop = Shop.opened_by(customer, project, customer.an_experiment(project))
    see(shop, "v1", "v2", "v3")
    buy(shop, "v1", "v1", "v9")
    assert stats(customer, project) == {
        "total_experiments": 1,
        "running_experiments": 1,
        "total_visitors": 3,
        "total_conversions": 1,
        "visitors_30d": 3,
        "conversions_30d": 1,
        "experiments_counted_outside": 0,
    }
    see(shop, "v4")
    assert stats(customer, project)["total_visitors"] == 4


def test_visitor_of_several_experiments_is_one(customer: Customer, project: str) -> None:
    first, second = (
        Shop.opened_by(customer, project, customer.an_experiment(project, name=name)) for name in "ab"
    )
    see(first, "v1", "v2")
    see(second, "v2", "v3")
    buy(first, "v2")
    found = stats(customer, project)
    assert (found["total_visitors"], found["total_conversions"]) == (3, 1)


def test_only_the_primary_goal_is_a_conversion(customer: Customer, project: str) -> None:
    signup = {"name": "Signup", "goal_type": "custom_event", "config": {"event_name": "signup"}}
    path = customer.an_experiment(project, goals=[signup | {"is_primary": False}, PURCHASE])
    shop = Shop.opened_by(customer, project, path)
    see(shop, "v1", "v2")
    buy(shop, "v1", event_name="signup")
    buy(shop, "v2")
    assert stats(customer, project)["total_conversions"] == 1


def test_visitor_of_several_variants_is_set_aside(customer: Customer, project: str) -> None:
    shop = Shop.opened_by(customer, project, customer.an_experiment(project))
    see(shop, "v1", "v2")
    see(shop, "v1", variant=1)
    assert stats(customer, project)["total_visitors"] == 1


@pytest.mark.parametrize(("days", "recent"), [(29, 1), (31, 0)])
def test_thirty_days_are_counted_back_from_now(
    customer: Customer, project: str, days: int, recent: int
) -> None:
    shop = Shop.opened_by(customer, project, customer.an_experiment(project))
    see(shop, "v1")
    # What a visitor saw long ago is moved there in the store: the API takes nothing so old.
    then = datetime.now(UTC) - timedelta(days=days)
    assert stats(customer, project)["visitors_30d"] == 1
    replacing = customer.services.rollup.publications.replacing([shop.experiment["id"]])
    with replacing, customer.services.warehouse.cursor() as cursor:
        table = result_table("visitors", shop.experiment["id"])
        moved = f"UPDATE {table} SET first_exposed_at = ?"  # noqa: S608 - named by the store
        cursor.execute(moved, [int(then.timestamp() * 10**6)])
        # Kept beside the rows.
        visitor_totals.forget(cursor, shop.project_id)
    found = stats(customer, project)
    assert (found["total_visitors"], found["visitors_30d"]) == (1, recent)
