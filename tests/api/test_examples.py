"""Examples of the OpenAPI document: every field has one, and the service accepts every body."""

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from api.errors import ERROR_CODES
from api.examples import MissingExampleError, example_of
from api.schemas.inputs import REFERENCE
from tests.api.customers import Customer, a_customer_of
from tests.api.described_sources import describe_source

BINARY = "application/vnd.apache.parquet"
# The ids of the examples, and where answers have those that the service gives instead.
IDS: Mapping[str, Mapping[str, tuple[str | int, ...]]] = {
    "create_project": {"prj_x7km3qv2c5tzhn6d4wrp": ("id",)},
    "create_member": {"mem_c5hn2qk7vxm3tz6d4wpr": ("id",)},
    "create_metric": {"met_v7xk5qmtd4wr3chn6zp2": ("id",)},
    "create_group": {"grp_q7xm2c5tzhn6d4wrpk3v": ("id",)},
    "create_holdout": {"hld_v7xk5qmtd4wr3chn6zp2": ("id",)},
    "create_notification_channel": {"chn_n6d4wrpk3vq7xm2c5tzh": ("id",)},
    "create_webhook": {"whk_h6zd4wrp2v7xk5qmt3cn": ("webhook", "id")},
    "create_experiment": {
        "exp_k3vq7xm2c5tzhn6d4wrp": ("id",),
        "var_f3kq7xm2w5c4hn6d2tzp": ("variants", 1, "id"),
        "goal_d4wr3chn6zp2v7xk5qmt": ("goals", 0, "id"),
    },
}
# An order in which each step finds what it needs; those without a body lead to the next one.
STEPS = (
    *("create_project", "update_project", "rotate_sdk_key", "create_member", "update_member"),
    *("create_api_key", "create_metric", "update_metric", "create_webhook", "update_webhook"),
    *("create_group", "update_group"),
    *("create_notification_channel", "update_notification_channel", "create_holdout", "update_holdout"),
    *("rotate_webhook_secret", "compute_sample_size", "create_experiment", "update_experiment"),
    *("copy_experiment", "request_review", "approve_experiment", "withdraw_review"),
    *("start_experiment", "assign_visitor", "track_events", "track_conversions"),
    *("start_run", "start_import", "create_share_link", "ship_experiment"),
)
MEANING_OF_ROWS = {"variant": "page", "control": "Three steps", "goals": "ordered", "visitor": "visitor"}
# By the last collection of a path: the id that stands for `{id}`.
OWNERS = {
    "projects": "prj_",
    "members": "mem_",
    "metrics": "met_",
    "groups": "grp_",
    "holdouts": "hld_",
    "webhooks": "whk_",
    "notification_channels": "chn_",
    "experiments": "exp_",
}


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(document: Mapping[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def problems(document: Mapping[str, Any], schema: Mapping[str, Any], example: object) -> list[str]:
    checked = {"components": document["components"], **schema}
    return [error.message for error in Draft202012Validator(checked).iter_errors(example)]


def fields(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            yield f"{name}.{field}", described


def test_every_field_has_an_example_or_refers_to_one(document: dict[str, Any]) -> None:
    found = dict(fields(document))
    assert len(found) > 900
    without = [
        name for name, field in found.items() if "examples" not in field and "$ref" not in json.dumps(field)
    ]
    assert without == [], "give each an example beside its description"


def test_examples_of_fields_are_valid(document: dict[str, Any]) -> None:
    wrong = {
        name: problems(document, field, field["examples"][0])
        for name, field in fields(document)
        if "examples" in field
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_every_answer_in_json_has_a_valid_example(document: dict[str, Any]) -> None:
    answers = {
        (name, status): answer["content"]["application/json"]
        for name, (_, _, operation) in operations(document).items()
        for status, answer in operation["responses"].items()
        if "application/json" in answer.get("content", {})
    }
    assert len(answers) > 400
    wrong = {name: problems(document, one["schema"], one["example"]) for name, one in answers.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_component_within_itself_ends() -> None:
    group = {
        "type": "object",
        "properties": {"all": {"type": "boolean"}, "of": {"$ref": f"{REFERENCE}Group"}},
    }
    assert example_of({"$ref": f"{REFERENCE}Group"}, {"Group": group}) == {"all": True}
    with pytest.raises(MissingExampleError):
        example_of({"type": "string"}, {})


def test_the_example_of_an_error_has_its_code(document: dict[str, Any]) -> None:
    answers = operations(document)["ship_experiment"][2]["responses"]
    codes = {
        status: answers[status]["content"]["application/json"]["example"]["error"]["code"]
        for status in answers
        if status >= "400"
    }
    assert codes["404"] == "not_found"
    assert codes["429"] == "rate_limited"
    assert all(ERROR_CODES[code].status == int(status) for status, code in codes.items())


def test_the_service_accepts_the_example_of_every_body(
    document: dict[str, Any], own_client: TestClient
) -> None:
    customer, known = a_customer_of(own_client), operations(document)
    with_text = {
        name
        for name, (_, _, operation) in known.items()
        if operation.get("requestBody", {"content": {BINARY: {}}})["content"].keys() != {BINARY}
    }
    assert with_text <= set(STEPS), "send the example of each at the step where it succeeds"
    ids: dict[str, str] = {}
    for name in STEPS:
        contents: dict[str | None, dict[str, Any]] = (
            known[name][2].get("requestBody", {}).get("content", {None: {}})
        )
        for media_type, content in contents.items():
            if media_type != BINARY:
                _send(customer, ids, known[name], media_type, content.get("example"))


def _send(
    customer: Customer,
    ids: dict[str, str],
    operation: tuple[str, str, Any],
    kind: str | None,
    example: object,
) -> None:
    """Send the example of a body, and keep the ids that the service gives."""
    method, path, described = operation
    name = described["operationId"]
    if name == "start_import":
        describe_source(customer.services, "orders", ids["prj_x7km3qv2c5tzhn6d4wrp"])
    text = example if isinstance(example, str) else json.dumps(example)
    for one, real in ids.items():
        text = text.replace(one, real)
    # Another member approves.
    sender = customer.as_colleague() if name == "approve_experiment" else customer
    answer = sender.call(
        method.upper(),
        _filled(path, ids).removeprefix("/api/v1"),
        content=None if example is None else text,
        headers={} if kind is None else {"Content-Type": kind},
        params=MEANING_OF_ROWS if kind == "text/csv" else {},
    )
    assert answer.status_code in {200, 201, 202}, (name, answer.text)
    assert answer.json().get("rejected", 0) == 0, answer.text
    for one, place in IDS.get(name, {}).items():
        ids[one] = reduce(lambda found, key: found[key], place, answer.json()["data"])


def _filled(path: str, ids: Mapping[str, str]) -> str:
    """Put the ids of the service into a path: each after the collection that it is of."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if part.startswith("{"):
            parts[place] = next(ids[one] for one in ids if one.startswith(OWNERS[parts[place - 1]]))
    return "/".join(parts)
