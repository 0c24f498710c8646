"""Units other than the visitor at the SDK endpoints, which agree on the variant of each."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine.design.assignment import assign
from engine.design.experiment import Experiment
from tests.api.customers import Customer
from tests.api.shops import Shop

INIT = "/api/v1/sdk/init"
TRACK = "/api/v1/sdk/track"
FLAG = "/ofrep/v1/evaluate/flags/checkout-button"
ACCOUNT = {"attribute": "account"}
OpenShop = Callable[..., Shop]


@pytest.fixture
def open_shop(customer: Customer, project: str) -> OpenShop:
    return lambda **fields: Shop.opened_by(customer, project, customer.an_experiment(project, **fields))


def assigned(shop: Shop, visitor_id: str, **visit: Any) -> dict[str, Any]:
    answer = shop.post(INIT, {"visitor_id": visitor_id, **visit})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["assignments"][0])


def stored_experiment(shop: Shop) -> Experiment:
    return shop.customer.services.catalog.experiments.get(shop.project_id, shop.experiment["id"])


def drive(shop: Shop, trigger: str, **fields: Any) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"
    assert shop.customer.post(f"{path}/{trigger}").status_code == 200
    if fields:
        assert shop.customer.patch(path, fields).status_code == 200


def test_all_visitors_of_an_account_get_its_variant_by_every_endpoint(open_shop: OpenShop) -> None:
    shop = open_shop(unit=ACCOUNT)
    experiment = stored_experiment(shop)
    shown: Counter[str] = Counter()
    for number in range(30):
        expected = assign(experiment, str(number)).variant
        assert expected is not None
        for visitor, account in ((f"a{number}", number), (f"b{number}", str(number))):
            own = assigned(shop, visitor, attributes={"account": account})
            assert own["variant_id"] == expected.id
            context = {"targetingKey": f"c{visitor}", "account": account}
            flag = shop.customer.client.post(
                FLAG, json={"context": context}, headers={"X-API-Key": shop.sdk_key}
            )
            assert flag.json()["metadata"]["variant_id"] == expected.id
        assert own["reason"] == "the account keeps the variant of the first assignment"
        shown[expected.id] += 1
    assert len(shown) == 2


def test_a_user_has_one_variant_on_all_devices_and_each_user_of_a_device_its_own(open_shop: OpenShop) -> None:
    shop = open_shop(unit="user")
    experiment = stored_experiment(shop)
    for number in range(20):
        expected = assign(experiment, f"u{number}").variant
        assert expected is not None
        for visitor in ("shared", f"own{number}"):
            assert assigned(shop, visitor, user_id=f"u{number}")["variant_id"] == expected.id
    flag = shop.customer.client.post(
        FLAG, json={"context": {"targetingKey": "v", "userId": 12}}, headers={"X-API-Key": shop.sdk_key}
    )
    twelve = assign(experiment, "12").variant
    assert twelve is not None
    assert flag.json()["metadata"]["variant_id"] == twelve.id


@pytest.mark.parametrize(
    ("unit", "visit"),
    [
        ("user", {"attributes": {"account": "acme"}}),
        (ACCOUNT, {"user_id": "u1"}),
        (ACCOUNT, {"attributes": {"account": True}}),
        (ACCOUNT, {"attributes": {"account": "undefined"}}),
    ],
)
def test_a_visitor_without_the_id_is_not_assigned(
    open_shop: OpenShop, unit: object, visit: dict[str, Any]
) -> None:
    shop = open_shop(unit=unit)
    own = assigned(shop, "v1", **visit)
    assert (own["variant_id"], own["status"], own["reason"]) == (None, "excluded", "no_unit")
    context = {"targetingKey": "v1", **visit.get("attributes", {}), "userId": visit.get("user_id")}
    flag = shop.customer.client.post(
        FLAG, json={"context": context}, headers={"X-API-Key": shop.sdk_key}
    ).json()
    assert (flag["value"], flag["reason"], flag["metadata"]["explanation"]) == (False, "DEFAULT", "no_unit")
    assert "assignment" not in shop.stored("type")


def test_a_preview_needs_no_id(open_shop: OpenShop) -> None:
    shop = open_shop(unit="user")
    own = assigned(shop, "v1", assignments={"checkout-button": "Treatment"})
    assert (own["variant_name"], own["status"]) == ("Treatment", "forced")


def test_the_first_assignment_of_an_account_stays_for_all_of_its_visitors(open_shop: OpenShop) -> None:
    shop = open_shop(unit=ACCOUNT)
    before = {
        account: assigned(shop, f"v{account}", attributes={"account": account})["variant_id"]
        for account in range(8)
    }
    drive(shop, "pause", traffic_allocation=0)
    for status in ("paused", "running"):
        if status == "running":
            drive(shop, "resume")
        for account, variant_id in before.items():
            own = assigned(shop, f"{status}{account}", attributes={"account": str(account)})
            assert (own["variant_id"], own["status"]) == (variant_id, "existing")
        assert assigned(shop, "v0", attributes={"account": "new"})["variant_id"] is None


def test_another_visitor_of_an_account_has_to_be_eligible_and_one_that_was_stays(open_shop: OpenShop) -> None:
    germans = {"field": "country", "operator": "equals", "values": ["DE"]}
    shop = open_shop(
        unit=ACCOUNT,
        targeting_rules={"version": 2, "root": {"operator": "and", "children": [germans]}},
    )
    first = assigned(shop, "v1", attributes={"account": "acme", "country": "DE"})
    assert first["status"] == "new"
    french = {"account": "acme", "country": "FR"}
    assert assigned(shop, "v1", attributes=french)["variant_id"] == first["variant_id"]
    assert assigned(shop, "v2", attributes=french)["status"] == "excluded"


def test_exposures_of_accounts_count_by_the_traffic_and_the_pause_of_the_account(open_shop: OpenShop) -> None:
    shop = open_shop(unit=ACCOUNT, traffic_allocation=50)
    experiment = stored_experiment(shop)
    inside = next(str(one) for one in range(99) if assign(experiment, str(one)).variant is not None)
    outside = next(str(one) for one in range(99) if assign(experiment, str(one)).variant is None)

    def code_of(event_id: str, visitor_id: str, account: str | None) -> str | None:
        attributes = {} if account is None else {"account": account}
        event = shop.exposure(event_id, visitor_id=visitor_id, attributes=attributes)
        (result,) = shop.post(TRACK, {"batch": [event]}).json()["results"]
        assert result["status"] == "ok"
        return None if result["code"] is None else str(result["code"])

    assert code_of("e1", "v1", inside) is None
    assert code_of("e2", "v2", outside) == "not_counted"
    # The rollup finds the account of an earlier visit.
    assert code_of("e3", "v3", None) is None
    drive(shop, "pause")
    assert code_of("e4", "v4", inside) is None
    assert code_of("e5", "v5", "unknown") == "not_counted"
