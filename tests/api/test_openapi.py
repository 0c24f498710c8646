import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import openapi
from api.errors import ERROR_CODES
from pipeline.store.catalog.keys import SCOPES


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_document_is_openapi_3_1_of_version_1_0_0(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "1.0.0"


def test_operation_ids_are_verbs_and_nouns_that_differ(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    assert {"create_project", "list_experiments", "start_experiment", "get_results_summary"} <= set(ids)
    assert all("_" in id_ and id_ == id_.lower() for id_ in ids)


def test_operations_name_their_key_scope_and_errors(document: dict[str, Any]) -> None:
    of_projects = [one for one in operations(document) if one[1].startswith("/api/v1/projects")]
    assert len(of_projects) > 30
    for method, path, operation in of_projects:
        (security,) = operation["security"]
        assert set(security["bearer"]) <= set(SCOPES)
        assert len(security["bearer"]) == 1
        expected = {"401", "402", "403"}
        expected |= {"404"} if "{" in path else set()
        expected |= {"400", "413", "415", "422"} if "requestBody" in operation else set()
        assert expected <= set(operation["responses"]), (method, path)


def test_errors_are_described_by_the_envelope(document: dict[str, Any]) -> None:
    errors = [
        (path, int(status), response)
        for _, path, operation in operations(document)
        for status, response in operation["responses"].items()
        if int(status) >= 400
    ]
    assert len(errors) > 100
    for path, status, response in errors:
        ((media_type, content),) = response["content"].items()
        if path.startswith("/sdk/v1/"):
            # A page's script element reads no JSON.
            assert (media_type, content["schema"]) == ("application/javascript", {"type": "string"})
        else:
            assert content["schema"]["$ref"].endswith("/ErrorEnvelope")
        assert status in {row.status for row in ERROR_CODES.values()}


def test_parameters_are_left_out_rather_than_null(document: dict[str, Any]) -> None:
    parameters = [one for _, _, operation in operations(document) for one in operation.get("parameters", ())]
    status = next(one for one in parameters if one["name"] == "status")
    assert (status["required"], status["schema"]["type"]) == (False, "string")
    assert "draft" in status["schema"]["enum"]
    assert not [one for one in parameters if "null" in str(one["schema"])]


def test_a_field_of_an_account_body_is_left_out_or_null(document: dict[str, Any]) -> None:
    for name in ("ApiKeyInput", "MemberInput"):
        schema = document["components"]["schemas"][name]
        optional = schema["properties"].keys() - set(schema["required"])
        assert optional
        assert all({"type": "null"} in schema["properties"][key]["anyOf"] for key in optional)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    names = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in text


def test_update_requires_no_field_and_has_no_defaults(document: dict[str, Any]) -> None:
    for name in ("ExperimentChanges", "ProjectChanges"):
        schema = document["components"]["schemas"][name]
        assert "required" not in schema
        assert not any("default" in field for field in schema["properties"].values())


def test_component_of_bodies_and_answers_is_open_to_new_fields(document: dict[str, Any]) -> None:
    for name in ("Statistics", "StopConditions", "UrlRule"):
        assert "additionalProperties" not in document["components"]["schemas"][name]
    assert document["components"]["schemas"]["VariantInput"]["additionalProperties"] is False


def test_it_is_made_once_for_requests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = Barrier(2)

    def make(_: FastAPI) -> dict[str, Any]:
        # Where both make it they meet here.
        with suppress(BrokenBarrierError):
            at_once.wait(0.1)
        return {}

    monkeypatch.setattr(openapi, "_document", make)
    app = FastAPI()
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(openapi.document_of, [app, app])
    assert first is second
