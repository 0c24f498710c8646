"""A write repeated until it is answered takes effect once, whenever the service is killed."""

import http.client
import json
import random
import threading
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from tests.resilience.services import a_service
from tests.waiting import wait_until

SENDERS = 6


def create_project(connection: http.client.HTTPConnection, token: str, name: str) -> tuple[int, str]:
    """Create a project, keyed by its name; returns the status, and the id if there is one."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": name,
    }
    connection.request(
        "POST", "/api/v1/projects", json.dumps({"name": name, "url": "https://x.example"}), headers
    )
    answer = connection.getresponse()
    body = json.loads(answer.read())
    return answer.status, body["data"]["id"] if "data" in body else ""


def send_until_killed(port: int, token: str, name: str, created: dict[str, str | None]) -> None:
    """Create projects one after another until the server is gone: name → id, None if unknown."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    number = 0
    while True:
        number += 1
        created[f"{name}-{number}"] = None
        try:
            status, project_id = create_project(connection, token, f"{name}-{number}")
        except (OSError, http.client.HTTPException):
            return
        assert status == 201
        created[f"{name}-{number}"] = project_id


def count_answered(created: dict[str, str | None]) -> int:
    # A copy, since the senders add to it meanwhile.
    return sum(project_id is not None for project_id in created.copy().values())


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.long(seconds=24))])
def test_creations_sent_again_after_kills_are_each_made_once(tmp_path: Path, kills: int) -> None:
    catalog = Catalog.open(Settings(data_dir=tmp_path / "store"))
    account, _, token = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    catalog.accounts.update(account.id, max_projects=10**6, rate_limit=10**6)
    moments = random.Random(8)  # noqa: S311 (moments, not secrets)
    created: dict[str, str | None] = {}
    for life in range(kills):
        with a_service(tmp_path / "store", tmp_path / "log") as service:
            senders = [
                threading.Thread(
                    target=send_until_killed, args=(service.port, token, f"{life}-{number}", created)
                )
                for number in range(SENDERS)
            ]
            for sender in senders:
                sender.start()
            answered = count_answered(created) + moments.randint(1, 40)
            wait_until(lambda: count_answered(created) >= answered)  # noqa: B023 - waited for at once
            service.kill()
            for sender in senders:
                sender.join()
    unknown = [name for name, project_id in created.items() if project_id is None]
    with a_service(tmp_path / "store", tmp_path / "log") as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        answers = {name: create_project(connection, token, name) for name in created}
        connection.close()
    assert len(created) > kills
    assert unknown
    assert {status for status, _ in answers.values()} == {201}
    for name, project_id in created.items():
        assert project_id in {None, answers[name][1]}
    assert sorted(project.name for project in catalog.projects.all()) == sorted(created)
    catalog.close()
