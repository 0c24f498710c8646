import pytest

from engine.design.targeting.fields import TARGETING_FIELDS
from tests.api.customers import Customer
from tests.api.request_bodies import error_of

# The lists of the contract.
LISTS = {
    "goal_types": ["pageview", "click", "custom_event", "revenue", "ga4_event"],
    "experiment_types": ["redirect", "visual", "personalization"],
    "visual_change_actions": [
        "modify_text",
        "modify_html",
        "modify_attribute",
        "modify_style",
        "modify_class",
        "remove",
        "insert_before",
        "insert_after",
        "insert_inside",
        "replace",
    ],
    "lifecycle": ["start", "pause", "resume", "complete", "archive"],
}


@pytest.mark.parametrize("name", LISTS)
def test_words_are_those_of_the_contract(customer: Customer, name: str) -> None:
    assert customer.get(f"/capabilities/{name}").json() == {"data": LISTS[name]}


def test_targeting_fields_are_described(customer: Customer) -> None:
    fields = customer.get("/capabilities/targeting_fields").json()["data"]
    assert list(fields) == list(TARGETING_FIELDS)
    assert fields["country"]["evaluation"] == "server_first"
    assert set(fields["country"]) == {"data_type", "operators", "evaluation", "widget", "requires_key"}
    assert fields["device_type"]["enum_values"] == ["desktop", "mobile", "tablet"]
    assert fields["device_type"]["evaluation"] == "server_and_client"
    assert fields["cookie"]["requires_key"] is True
    for field in fields.values():
        assert {"equals", "not_equals", "in", "not_in"} <= set(field["operators"])


def test_offered_condition_is_accepted(customer: Customer, project: str) -> None:
    fields = customer.get("/capabilities/targeting_fields").json()["data"]
    single = {"gt", "gte", "lt", "lte"}
    conditions = {
        name: [
            {
                "field": name,
                "operator": operator,
                **({"key": "plan"} if field["requires_key"] else {}),
                **(
                    {}
                    if operator in {"exists", "not_exists"}
                    else {"values": values_of(field, operator in single)}
                ),
            }
            for operator in field["operators"]
        ]
        for name, field in fields.items()
    }
    assert sum(map(len, conditions.values())) > 100
    for children in conditions.values():
        root = {"operator": "and", "children": children}
        body = {"name": "x", "targeting_rules": {"version": 2, "root": root}}
        answer = customer.post(f"{project}/experiments", body)
        assert answer.status_code == 201, (children, answer.text)


def values_of(field: dict[str, list[str]], single: bool) -> list[str]:  # noqa: FBT001 - one of two shapes
    values = field.get("enum_values") or ["1", "2"]
    return values[:1] if single else values


@pytest.mark.parametrize("scope", ["account:read", "experiments:read"])
def test_either_of_two_scopes_opens_them(customer: Customer, scope: str) -> None:
    for name in ("targeting_fields", *LISTS):
        assert customer.with_key(scope).get(f"/capabilities/{name}").status_code == 200


def test_no_other_scope_opens_them(customer: Customer) -> None:
    other = customer.with_key("projects:read", "results:read")
    for name in ("targeting_fields", *LISTS):
        error_of(other.get(f"/capabilities/{name}"), 403, "forbidden")
