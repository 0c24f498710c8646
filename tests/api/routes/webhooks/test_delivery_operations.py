"""Deliveries over REST, through a real service and a real endpoint, and the receiver of the documentation."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import error_of
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, Endpoint, an_endpoint
from tests.resilience.services import Service, a_service
from tests.waiting import wait_until

ROOT = Path(__file__).parents[4]
Verify = Callable[[str, dict[str, str], bytes], bool]


@pytest.fixture
def verify() -> Verify:
    """The function of the documentation."""
    (code,) = re.findall(r"```python\n(.+?)```", (ROOT / "docs/webhooks.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own documentation
    found: Verify = names["verify"]
    return found


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with an_endpoint() as opened:
        yield opened


def test_a_test_is_queued_and_listed(customer: Customer, project: str) -> None:
    created = customer.post(f"{project}/webhooks", {"url": "https://shop.example/"}).json()["data"]
    path = f"{project}/webhooks/{created['webhook']['id']}"
    queued = customer.post(f"{path}/test")
    assert queued.status_code == 202
    delivery = queued.json()["data"]
    assert (delivery["type"], delivery["status"], delivery["attempts"]) == ("webhook.test", "pending", 0)
    assert delivery["message"]["data"] == {"project_id": project.rpartition("/")[2]}
    # The service may have tried it meanwhile.
    (listed,) = customer.get(f"{path}/deliveries").json()["data"]
    assert (listed["id"], listed["message"]) == (delivery["id"], delivery["message"])


def test_a_disabled_webhook_takes_no_test(customer: Customer, project: str) -> None:
    body = {"url": "https://shop.example/", "enabled": False}
    created = customer.post(f"{project}/webhooks", body).json()["data"]
    path = f"{project}/webhooks/{created['webhook']['id']}"
    error = error_of(customer.post(f"{path}/test"), 400, "invalid_request")
    assert "enable it first" in error["message"]
    assert customer.get(f"{path}/deliveries").json()["data"] == []


def test_messages_are_shown_newest_first(customer: Customer, project: str) -> None:
    created = customer.post(f"{project}/webhooks", {"url": "https://shop.example/"}).json()["data"]
    path = f"{project}/webhooks/{created['webhook']['id']}/deliveries"
    experiment = customer.an_experiment(project)
    customer.post(f"{experiment}/start")
    customer.post(f"{experiment}/pause")
    listed = customer.get(path, per_page=1).json()
    assert listed["meta"] == {"page": 1, "per_page": 1, "total": 2}
    assert listed["data"][0]["type"] == "experiment.paused"


class Shop:
    """A store that is served, and its owner's requests."""

    def __init__(self, data_dir: Path) -> None:
        truelift = Path(sys.executable).with_name("truelift")
        arguments = ("--account", "Acme", "--email", "ada@acme.example", "--plan", "scale", "--json")
        made = subprocess.run(
            [truelift, "init", "--data-dir", data_dir, *arguments], check=True, capture_output=True
        )
        self._token: str = json.loads(made.stdout)["token"]
        self.service: Service

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self.service.request(method, f"/api/v1{path}", body, headers)
        assert answer.status < 300, answer.body
        return answer.data["data"]


@pytest.mark.long(seconds=9)
@pytest.mark.slow
def test_a_message_survives_kill_9_and_is_verified_by_the_documented_receiver(
    tmp_path: Path, endpoint: Endpoint, verify: Verify
) -> None:
    shop = Shop(tmp_path / "store")
    served = {"webhook_networks": LOOPBACK}
    endpoint.status = 500
    with a_service(tmp_path / "store", tmp_path / "log", **served) as shop.service:
        project = shop.ask("POST", "/projects", {"name": "Shop", "url": "https://shop.example"})["id"]
        hooks = f"/projects/{project}/webhooks"
        created = shop.ask("POST", hooks, {"url": endpoint.url, "events": ["experiment.archived"]})
        path = f"{hooks}/{created['webhook']['id']}"
        test = shop.ask("POST", f"{path}/test")["id"]
        wait_until(lambda: endpoint.received)
        shop.service.process.kill()
        shop.service.process.wait(60)
    endpoint.status = 204
    with a_service(tmp_path / "store", tmp_path / "log", **served) as shop.service:
        wait_until(lambda: shop.ask("GET", f"{path}/deliveries")[0]["status"] == "delivered")
    for received in endpoint.received:
        assert received.headers["webhook-id"] == test
        assert verify(created["secret"], received.headers, received.body)
        assert not verify(created["secret"], received.headers, received.body + b" ")
        old = {**received.headers, "webhook-timestamp": "1700000000"}
        assert not verify(created["secret"], old, received.body)
    assert len(endpoint.received) >= 2
