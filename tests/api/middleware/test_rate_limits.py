import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from api.app import create_app
from api.cli.app import app as command_line
from api.middleware.rate_limits import WINDOW_SECONDS, RateLimits
from api.services import Services
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.rates import HEADERS, limited, rate_limit_of
from tests.api.request_bodies import error_of
from tests.api.shops import Shop


def test_every_answer_to_an_account_tells_what_is_left(customer: Customer, project: str) -> None:
    narrow = customer.with_key("projects:read")
    answers = [
        customer.get("/projects"),
        customer.get("/projects", page=0),
        customer.get("/projects/prj_x"),
        narrow.post("/projects", {}),
        customer.post("/projects", {}),
        customer.call("POST", "/projects", content=b"{"),
        customer.call("POST", "/projects", content=b"{}", headers={"Content-Type": "text/plain"}),
        customer.post("/projects", {"name": "Shop", "url": "https://shop.example"}),
        customer.call("DELETE", project),
    ]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 422, 404, 403, 422, 400, 415, 201, 204]
    remaining = [rate_limit_of(answer)[1] for answer in answers]
    # Each took one, the creation of the fixture's project the one before.
    assert remaining == list(range(1_998, 1_998 - len(answers), -1))
    assert all(rate_limit_of(answer)[0] == 2_000 for answer in answers)
    assert all(1 <= rate_limit_of(answer)[2] <= WINDOW_SECONDS for answer in answers)


def test_account_that_is_not_served_is_told_too(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, subscription_status="unpaid")
    assert rate_limit_of(customer.get("/projects"))[1] == 1_999


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/api/v1/nothing", "/api/v1/projects"])
def test_answer_to_nobody_tells_nothing(client: TestClient, path: str) -> None:
    assert not set(HEADERS) & set(client.get(path).headers)


def test_request_beyond_the_limit_is_refused_and_told_when_to_come_back(customer: Customer) -> None:
    limited(customer, 3)
    assert [customer.get("/projects").status_code for _ in range(3)] == [200] * 3
    for _ in range(3):
        answer = customer.get("/projects")
        error_of(answer, 429, "rate_limited")
        limit, remaining, reset = rate_limit_of(answer)
        assert (limit, remaining) == (3, 0)
        assert answer.headers["Retry-After"] == str(reset)


def test_refused_write_changes_nothing(customer: Customer) -> None:
    limited(customer, 1)
    customer.get("/projects")
    error_of(customer.post("/projects", {"name": "Shop", "url": "https://shop.example"}), 429, "rate_limited")
    limited(customer, 10)
    assert customer.get("/projects").json()["meta"]["total"] == 0


def test_keys_of_an_account_share_its_limit_and_accounts_do_not(
    customer: Customer, stranger: Customer
) -> None:
    limited(customer, 2)
    others = [customer.with_key() for _ in range(3)]
    assert [other.get("/projects").status_code for other in others] == [200, 200, 429]
    assert stranger.get("/projects").status_code == 200


def test_limit_comes_after_the_key_and_before_everything_else(customer: Customer, services: Services) -> None:
    limited(customer, 1)
    customer.get("/projects")
    assert customer.client.get("/api/v1/projects").status_code == 401
    services.catalog.accounts.update(customer.account.id, subscription_status="unpaid")
    narrow = customer.with_key("results:read")
    error_of(narrow.call("PATCH", "/projects/prj_x", content=b"{"), 429, "rate_limited")


def test_parallel_requests_get_exactly_the_limit(customer: Customer) -> None:
    limited(customer, 10)
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: customer.get("/projects").status_code, range(40)))
    assert (statuses.count(200), statuses.count(429)) == (10, 30)


def test_another_limit_or_plan_holds_at_once(customer: Customer, services: Services) -> None:
    runner = CliRunner()

    def update(*options: str) -> None:
        target = ["--data-dir", str(services.settings.data_dir), "--account", customer.account.id]
        environment = {"TRUELIFT_CATALOG_URL": services.settings.catalog_url}
        invoked = runner.invoke(command_line, ["account", "update", *target, *options], env=environment)
        assert invoked.exit_code == 0

    update("--plan", "starter")
    assert rate_limit_of(customer.get("/projects"))[:2] == (100, 99)
    update("--rate-limit", "2")
    assert rate_limit_of(customer.get("/projects"))[:2] == (2, 0)
    assert [customer.get("/projects").status_code for _ in range(5)] == [429] * 5
    update("--rate-limit", "4")
    assert rate_limit_of(customer.get("/projects"))[:2] == (4, 1)


def test_window_is_over_after_its_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = RateLimits(Settings(data_dir=tmp_path))
    assert [limits.count("account/a", 1).is_exceeded for _ in range(2)] == [False, True]
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun + WINDOW_SECONDS - 2)
    assert limits.count("account/a", 1).is_exceeded
    assert limits.count("account/a", 1).reset_seconds <= 3
    monkeypatch.setattr(time, "time", lambda: begun + WINDOW_SECONDS)
    assert not limits.count("account/a", 1).is_exceeded


@pytest.mark.parametrize("hours", [1, 24])
def test_window_that_began_while_the_clock_was_ahead_does_not_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int, caplog: pytest.LogCaptureFixture
) -> None:
    limits = RateLimits(Settings(data_dir=tmp_path))
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun + hours * 3600)
    assert [limits.count("account/a", 1).is_exceeded for _ in range(2)] == [False, True]
    monkeypatch.setattr(time, "time", lambda: begun)
    assert [limits.count("account/a", 1).is_exceeded for _ in range(2)] == [False, True]
    assert "the clock was set back" in caplog.text


def test_sdk_endpoints_use_up_their_projects_quota_and_not_the_accounts(
    customer: Customer, shop: Shop, services: Services
) -> None:
    quota = services.settings.sdk_rate_limit_per_minute
    before = rate_limit_of(customer.get("/projects"))[1]
    for number in range(3):
        answer = shop.post("/api/v1/sdk/track", {"batch": [shop.exposure(f"e{number}")]})
        assert rate_limit_of(answer)[:2] == (quota, quota - 1 - number)
    # A server with a key of the account is one more sender of the same project.
    server = customer.call(
        "POST", f"/sdk/track?project_id={shop.project_id}", json={"batch": [shop.exposure("e3")]}
    )
    assert rate_limit_of(server)[:2] == (quota, quota - 4)
    assert rate_limit_of(customer.get("/projects"))[1] == before - 1


def test_account_that_used_up_its_limit_still_sends_events(customer: Customer, shop: Shop) -> None:
    limited(customer, 1)
    assert customer.get("/projects").status_code == 429
    assert shop.post("/api/v1/sdk/track", {"batch": [shop.exposure()]}).json()["accepted"] == 1


def test_project_beyond_its_quota_is_refused_and_stores_nothing(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(data_dir=tmp_path, sdk_rate_limit_per_minute=2))) as client:
        customer = a_customer_of(client)
        project = customer.a_project()
        shop = Shop.opened_by(customer, project, customer.an_experiment(project))
        answers = [
            shop.post("/api/v1/sdk/track", {"batch": [shop.exposure(f"e{number}")]}) for number in range(3)
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        error_of(answers[2], 429, "rate_limited")
        assert answers[2].headers["Retry-After"] == answers[2].headers["RateLimit-Reset"]
        assert shop.stored() == ["e0", "e1"]
        server = customer.call("POST", f"/sdk/init?project_id={shop.project_id}", json={})
        error_of(server, 429, "rate_limited")
        # What is refused before its project is known is limited apart from all projects.
        unknown = [customer.call("POST", "/sdk/init?project_id=prj_x", json={}) for _ in range(3)]
        assert [answer.status_code for answer in unknown] == [404, 404, 429]
