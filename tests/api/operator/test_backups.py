"""Backups by the running service: for holders of the key only, and with reasons of a refusal."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.backup_manifest import read_manifest
from pipeline.encryption_key import operator_token
from tests.api.customers import Customer

PATH = "/operator/backups"


@pytest.fixture
def operator(services: Services) -> dict[str, str]:
    return {"Authorization": f"Bearer {operator_token(services.settings)}"}


def test_the_operator_gets_a_backup(client: TestClient, operator: dict[str, str], tmp_path: Path) -> None:
    answer = client.post(PATH, json={"folder": str(tmp_path / "backup")}, headers=operator)
    assert (answer.status_code, answer.json()["data"]) == (200, read_manifest(tmp_path / "backup").summary())


def test_a_stranger_learns_nothing_and_writes_nothing(
    client: TestClient, customer: Customer, tmp_path: Path
) -> None:
    body = {"folder": str(tmp_path / "backup")}
    unknown = client.post("/operator/unknown", json=body)
    for token in (b"", customer.token.encode(), "é".encode()):
        answer = client.post(PATH, json=body, headers={b"Authorization": b"Bearer " + token})
        assert answer.status_code == unknown.status_code == 404
        assert answer.json()["error"]["code"] == unknown.json()["error"]["code"] == "not_found"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "folder"),
        ({"folder": "backup"}, "absolute"),
        ({"folder": "/tmp/x", "with_snapshot": True}, "with_snapshot"),  # noqa: S108 (never written)
    ],
)
def test_a_wrong_request_is_refused(
    client: TestClient, operator: dict[str, str], body: dict[str, object], message: str
) -> None:
    answer = client.post(PATH, json=body, headers=operator)
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_a_folder_in_use_is_refused_with_the_reason(
    client: TestClient, operator: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("")
    answer = client.post(PATH, json={"folder": str(tmp_path)}, headers=operator)
    assert (answer.status_code, "holds something" in answer.json()["error"]["message"]) == (400, True)
