"""Reports by the running service: for holders of the key only, of any account."""

from base64 import b64decode

import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.encryption_key import operator_token
from tests.api.customers import Customer

PATH = "/operator/reports"


@pytest.fixture
def operator(services: Services) -> dict[str, str]:
    return {"Authorization": f"Bearer {operator_token(services.settings)}"}


def test_the_operator_gets_the_report_of_an_experiment(
    client: TestClient, operator: dict[str, str], experiment: str
) -> None:
    body = {"experiment_id": experiment.rpartition("/")[2]}
    answer = client.post(PATH, json=body, headers=operator)
    assert answer.status_code == 200
    assert b64decode(answer.json()["data"]["content"]).startswith(b"<!doctype html>")
    unknown = client.post(PATH, json={"experiment_id": "exp_x"}, headers=operator)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")


def test_a_stranger_learns_nothing(client: TestClient, customer: Customer, experiment: str) -> None:
    body = {"experiment_id": experiment.rpartition("/")[2]}
    for token in ("", customer.token):
        answer = client.post(PATH, json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 404
        assert experiment.rpartition("/")[2] not in answer.text


@pytest.mark.parametrize("body", [{}, {"experiment_id": 1}, {"experiment_id": "exp_x", "format": "pdf"}])
def test_a_wrong_request_is_refused(
    client: TestClient, operator: dict[str, str], body: dict[str, object]
) -> None:
    assert client.post(PATH, json=body, headers=operator).status_code == 400
