"""Quotas of browsers: events and bytes a minute by project and address."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.errors import ApiError
from api.sdk.quotas import BrowserQuotas
from pipeline.settings import Settings
from tests.api.customers import a_customer_of
from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"
LIMITS: dict[str, Any] = {
    "browser_events_per_minute": 60,
    "browser_bytes_per_minute": 40_000,
    "address_events_per_minute": 20,
    "address_bytes_per_minute": 10_000,
}


class Clock:
    now = 1.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def quotas() -> BrowserQuotas:
    return BrowserQuotas(Settings(**LIMITS), Clock())


def is_taken(quotas: BrowserQuotas, project: str, address: int | None, **counts: int) -> bool:
    try:
        for unit, number in counts.items():
            getattr(quotas, f"count_{unit}")(project, address, number)
    except ApiError:
        return False
    return True


def test_an_address_that_used_up_its_quota_stops_no_other(quotas: BrowserQuotas) -> None:
    assert is_taken(quotas, "prj_1", 1, events=20)
    assert not is_taken(quotas, "prj_1", 1, events=1)
    assert not is_taken(quotas, "prj_2", 1, events=1)
    assert is_taken(quotas, "prj_1", 2, events=20)


def test_a_project_that_used_up_its_quota_stops_no_other(quotas: BrowserQuotas) -> None:
    assert all(is_taken(quotas, "prj_1", address, events=20) for address in (1, 2, 3))
    assert not is_taken(quotas, "prj_1", 4, events=1)
    assert is_taken(quotas, "prj_2", 4, events=20)


def test_bytes_have_a_quota_of_their_own(quotas: BrowserQuotas) -> None:
    assert is_taken(quotas, "prj_1", 1, bytes=9_000, events=1)
    assert not is_taken(quotas, "prj_1", 1, bytes=2_000)
    assert is_taken(quotas, "prj_1", 1, events=1)


def test_what_is_refused_is_not_counted(quotas: BrowserQuotas) -> None:
    assert is_taken(quotas, "prj_1", 1, events=15)
    assert not is_taken(quotas, "prj_1", 1, events=6)
    assert is_taken(quotas, "prj_1", 1, events=5)


def test_a_batch_above_the_quota_passes_alone(quotas: BrowserQuotas) -> None:
    assert is_taken(quotas, "prj_1", 1, events=500)
    assert not is_taken(quotas, "prj_2", 1, events=1)


def test_each_minute_begins_anew() -> None:
    clock = Clock()
    quotas = BrowserQuotas(Settings(**LIMITS), clock)
    assert is_taken(quotas, "prj_1", 1, events=20)
    clock.now = 61.0
    assert is_taken(quotas, "prj_1", 1, events=20)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Shop]:
    """A shop of a service with low quotas, which every address may reach through a trusted proxy."""
    settings = Settings(data_dir=tmp_path, **LIMITS)
    with TestClient(create_app(settings), client=("127.0.0.1", 50_000)) as client:
        customer = a_customer_of(client)
        project = customer.a_project()
        yield Shop.opened_by(customer, project, customer.an_experiment(project))


def test_beyond_a_quota_the_answer_says_when_to_come_again(limited: Shop) -> None:
    events = [limited.exposure(f"e{number}") for number in range(15)]
    assert limited.post(TRACK, {"batch": events}, X_Forwarded_For="192.0.2.1").status_code == 200
    refused = limited.post(TRACK, {"batch": events}, X_Forwarded_For="192.0.2.1")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert limited.post(TRACK, {"batch": events}, X_Forwarded_For="192.0.2.2").status_code == 200
    assert limited.stored_count() == 30


def test_servers_have_no_quota(limited: Shop) -> None:
    events = [limited.exposure(f"e{number}") for number in range(70)]
    server = limited.customer.with_key("sdk:write")
    for _ in range(2):
        body = {"batch": events, "project_id": limited.project_id}
        assert server.call("POST", "/sdk/track", json=body).status_code == 200


def test_an_address_is_stored_as_a_hash_of_its_network(limited: Shop) -> None:
    for number, address in enumerate(["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "192.0.2.1"]):
        limited.post(TRACK, {"batch": [limited.exposure(f"e{number}")]}, X_Forwarded_For=address)
    first, second, other, of_ipv4 = limited.stored("address_key")
    assert first == second
    assert len({first, other, of_ipv4}) == 3
