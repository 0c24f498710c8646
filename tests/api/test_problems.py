"""What is wrong with a request, named with its path and in words that help."""

from typing import Any

import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import CONTROL, PURCHASE, an_experiment_body, error_of


def problems(customer: Customer, places: dict[str, str], **fields: Any) -> dict[str, str]:
    """Field → message of what is wrong with an experiment."""
    answer = customer.post(f"{places['project']}/experiments", an_experiment_body(**fields))
    error = error_of(answer, 422, "validation_error")
    return {detail["field"]: detail["message"] for detail in error["details"]}


def named(count: int) -> list[dict[str, Any]]:
    return [{**CONTROL, "name": f"Variant {index}", "is_control": index == 0} for index in range(count)]


def nested(levels: int) -> dict[str, Any]:
    group: dict[str, Any] = {"operator": "and", "children": []}
    for _ in range(levels - 1):
        group = {"operator": "not", "children": [group]}
    return {"version": 2, "root": group}


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"name": ""}, "name", "blank"),
        ({"name": "a\0b"}, "name", "U+0000"),
        ({"name": "a\x1bb"}, "name", "U+001B"),
        ({"name": "x" * 10_000}, "name", "at most"),
        ({"name": 10**400}, "name", "must be text"),
        ({"traffic_allocation": 10**400}, "traffic_allocation", "from 0 to 100"),
        ({"traffic_allocation": 50.5}, "traffic_allocation", "whole number"),
        ({"traffic_allocation": True}, "traffic_allocation", "whole number"),
        ({"confidence_level": 100}, "confidence_level", "from 50 to 99"),
        ({"variants": named(21)}, "variants", "at most 20"),
        ({"variants": [CONTROL, CONTROL]}, "variants[1].name", "twice"),
        ({"variants": [{**CONTROL, "weight": -1}]}, "variants[0].weight", "number from 0"),
        ({"variants": [{**CONTROL, "weight": 10**400}]}, "variants[0].weight", "number from 0"),
        ({"variants": [{**CONTROL, "weight": 0}]}, "variants", "positive weight"),
        ({"variants": [{**CONTROL, "changes": [{}]}]}, "variants[0].changes[0].action", ""),
        ({"goals": [PURCHASE, PURCHASE]}, "goals", "mark one"),
        ({"goals": [{**PURCHASE, "config": {}}]}, "goals[0].config.event_name", "required"),
        ({"url": "javascript:alert(1)", "type": "redirect"}, "url", "http"),
        ({"url": "https://shop.example/" + "x" * 2_048}, "url", "at most 2,048"),
        ({"url_match_type": "regex", "url": "("}, "url", "regular expression"),
        ({"url_match_type": "regex", "url": "x" * 501}, "url", "at most 500"),
        ({"targeting_rules": nested(6)}, "targeting_rules", "5"),
        ({"scheduled_start_at": "tomorrow"}, "scheduled_start_at", "ISO 8601"),
        ({"scheduled_start_at": "2030-01-01T00:00:00"}, "scheduled_start_at", "time zone"),
        ({"nmae": "x"}, "nmae", "name"),
    ],
)
def test_problem_is_named_with_its_path_and_what_to_do(
    unlimited: Customer, places: dict[str, str], fields: dict[str, Any], path: str, words: str
) -> None:
    found = problems(unlimited, places, **fields)
    (field,) = [field for field in found if field.startswith(path)][:1]
    assert words in found[field]


def test_every_problem_is_named_at_once(unlimited: Customer, places: dict[str, str]) -> None:
    found = problems(
        unlimited,
        places,
        name="\0",
        traffic_allocation=101,
        variants=[{"name": "A", "weight": -1}, {"name": "A", "weight": 1, "is_control": "yes"}, 5],
        goals=[{"name": "G", "goal_type": "click", "config": {"selector": "", "colour": "red"}}],
        url_rules=[{"type": "include", "match_type": "regex", "value": "("}],
        stop_conditions={"visitor_limit": 0},
        assigned_user_ids=["mem_nobody"],
        colour="red",
    )
    assert {
        "name",
        "traffic_allocation",
        "variants[0].weight",
        "variants[1].is_control",
        "variants[2]",
        "goals[0].config.selector",
        "goals[0].config.colour",
        "url_rules[0].value",
        "stop_conditions.visitor_limit",
        "assigned_user_ids[0]",
        "colour",
    } <= set(found)


def test_answer_stays_small_however_much_is_wrong(unlimited: Customer, places: dict[str, str]) -> None:
    body = {f"field {number}": "x" * 50 for number in range(10_000)}
    answer = unlimited.post(f"{places['project']}/experiments", body)
    error_of(answer, 422, "validation_error")
    assert len(answer.content) < 10_000


def test_page_is_matched_against_a_pattern_that_would_never_end_elsewhere(
    unlimited: Customer, places: dict[str, str]
) -> None:
    slow = "(a+)+$"
    created = unlimited.post(
        f"{places['project']}/experiments",
        an_experiment_body(name="Slow", url=slow, url_match_type="regex"),
    )
    path = f"{places['project']}/experiments/{created.json()['data']['id']}"
    assert unlimited.post(f"{path}/start").status_code == 200
    visit = {"visitor_id": "v", "url": "https://shop.example/" + "a" * 2_000 + "!"}
    answer = unlimited.post(f"/sdk/init?project_id={places['project_id']}", visit)
    assert answer.status_code == 200
    (assignment,) = (one for one in answer.json()["assignments"] if one["test_key"] == "slow")
    assert assignment["status"] == "excluded"


@pytest.mark.parametrize(
    "path", ["/projects/%00", "/projects/%ff", "/projects/" + "x" * 5_000, "/projects/%F0%9F%92%A9"]
)
def test_id_of_any_characters_is_just_unknown(unlimited: Customer, path: str) -> None:
    error_of(unlimited.get(path), 404, "not_found")
