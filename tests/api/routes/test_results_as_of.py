"""Results of past nights: as they were served, whatever came later."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api import deps
from api.app import create_app
from pipeline.jobs.jobs import rebuild_after_midnight
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import error_of, fields_of
from tests.api.shops import Shop

DAY = timedelta(days=1)
VIEWS = ("results", "results/summary", "results/timeseries")


class Calendar:
    """The time of requests and of jobs, moved by hand."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def customer(tmp_path: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch) -> Iterator[Customer]:
    opened = partial(open_pipeline, clock=lambda: calendar.now)
    monkeypatch.setattr("api.services.open_pipeline", opened)
    monkeypatch.setattr(deps, "utc_now", lambda: calendar.now)
    with TestClient(create_app(Settings(data_dir=tmp_path, fresh_read_seconds=60))) as client:
        yield a_customer_of(client)


@pytest.fixture
def shop(customer: Customer, calendar: Calendar) -> Shop:
    """An experiment on the day before the first night."""
    project = customer.a_project()
    shop = Shop.opened_by(customer, project, customer.an_experiment(project))
    see(shop, "first", 40)
    pass_midnight(shop, calendar)
    return shop


def see(shop: Shop, name: str, visitors: int) -> None:
    variants = [variant["id"] for variant in shop.experiment["variants"]]
    shown = [
        shop.exposure(f"{name} {number}", visitor_id=f"{name} {number}", variant_id=variants[number % 2])
        for number in range(visitors)
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": shown}).json()["rejected"] == 0


def pass_midnight(shop: Shop, calendar: Calendar) -> str:
    """Let a night pass; return the day that it began."""
    calendar.now += DAY
    rebuild_after_midnight(shop.customer.services)
    return calendar.now.date().isoformat()


def path_of(shop: Shop, view: str) -> str:
    return f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/{view}"


def served(shop: Shop, **query: str) -> dict[str, Any]:
    return {view: shop.customer.get(path_of(shop, view), **query).json() for view in VIEWS}


def test_a_past_night_is_reported_as_it_was_served(shop: Shop, calendar: Calendar) -> None:
    night = pass_midnight(shop, calendar)
    then = served(shop)
    assert [one["visitors"] for one in then["results/summary"]["data"]["variants"]] == [20, 20]
    checks = {one["check"]: one for one in then["results"]["data"]["health"]}
    assert checks["interacting_tests"]["details"]["night"] == night
    see(shop, "second", 10)
    later = pass_midnight(shop, calendar)
    assert served(shop) != then
    newest, oldest = (run["id"] for run in rebuilds(shop)[:2])
    assert served(shop, as_of=night) == published_by(oldest, then)
    assert served(shop, as_of=later) == published_by(newest, served(shop))


def published_by(run_id: str, answers: dict[str, Any]) -> dict[str, Any]:
    assert answers["results"]["data"]["run_id"] is None
    return {**answers, "results": {"data": {**answers["results"]["data"], "run_id": run_id}}}


def rebuilds(shop: Shop) -> list[dict[str, Any]]:
    """List the rebuilds of the project, the newest first."""
    found: list[dict[str, Any]] = shop.customer.get(
        f"/projects/{shop.project_id}/runs", kind="rebuild"
    ).json()["data"]
    return found


def test_a_night_that_is_not_kept_is_refused_with_those_that_are(shop: Shop, calendar: Calendar) -> None:
    night = pass_midnight(shop, calendar)
    for view in VIEWS:
        refused = error_of(
            shop.customer.get(path_of(shop, view), as_of="2020-01-01"), 422, "validation_error"
        )
        assert fields_of(refused) == ["as_of"]
        assert night in refused["details"][0]["message"]
    for view, query in {
        "results": {"as_of": night, "country": "DE"},
        "results/timeseries": {"as_of": "yesterday"},
        "results/segments": {"as_of": night},
        "results/export": {"as_of": night},
    }.items():
        answer = shop.customer.get(path_of(shop, view), **query)
        assert fields_of(error_of(answer, 422, "validation_error")) == ["as_of"]


def test_another_form_of_a_day_is_refused(shop: Shop) -> None:
    for text in (
        "20261120",
        "2026-W47-5",
        "2026-11-20T00:00:00Z",
        "1763596800",
        "2026-02-30",
        "2026-1-2",
        "",
    ):
        refused = error_of(shop.customer.get(path_of(shop, "results"), as_of=text), 422, "validation_error")
        assert fields_of(refused) == ["as_of"], text
        assert "must be a day such as 2026-11-20" in refused["details"][0]["message"]


def test_a_day_to_come_is_refused_as_such(shop: Shop, calendar: Calendar) -> None:
    tomorrow = (calendar.now + DAY).date().isoformat()
    # The year of the Buddhist calendar.
    for day in (tomorrow, "2569-11-20", "9999-12-31"):
        refused = error_of(shop.customer.get(path_of(shop, "results"), as_of=day), 422, "validation_error")
        message = refused["details"][0]["message"]
        assert message == f"{day} has not begun: in UTC it is {calendar.now.date().isoformat()}"


def test_as_many_nights_are_kept_as_the_project_says(shop: Shop, calendar: Calendar) -> None:
    project = f"/projects/{shop.project_id}"
    assert shop.customer.patch(project, {"settings": {"keep_nights": 2}}).status_code == 200
    nights = [pass_midnight(shop, calendar) for _ in range(3)]
    statuses = [shop.customer.get(path_of(shop, "results"), as_of=night).status_code for night in nights]
    assert statuses == [422, 200, 200]
    assert shop.customer.patch(project, {"settings": {"keep_nights": 0}}).status_code == 200
    pass_midnight(shop, calendar)
    assert shop.customer.get(path_of(shop, "results"), as_of=nights[2]).status_code == 422
    refused = shop.customer.patch(project, {"settings": {"keep_nights": -1}})
    assert fields_of(error_of(refused, 422, "validation_error")) == ["settings.keep_nights"]


def test_a_second_look_is_at_those_who_reached_the_change(customer: Customer, calendar: Calendar) -> None:
    project = customer.a_project()
    path = customer.an_experiment(project, exposure={"event": "basket_seen"})
    shop = Shop.opened_by(customer, project, path)
    see(shop, "first", 40)
    reached = [
        {
            "event_id": f"reached {number}",
            "type": "custom_event",
            "event_name": "basket_seen",
            "visitor_id": f"first {number}",
        }
        for number in range(10)
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": reached}).json()["accepted"] == 10
    early = error_of(customer.get(f"{path}/results", reached="true"), 422, "validation_error")
    assert fields_of(early) == ["reached"]
    night = pass_midnight(shop, calendar)
    for asked in ({}, {"as_of": night}):
        second = customer.get(f"{path}/results", reached="true", **asked).json()["data"]
        (found,) = second["variants"].values()
        assert ([one["visitors"] for one in found], second["exploratory"]) == ([5, 5], True)
    assert [one["visitors"] for one in customer.data_of(f"{path}/results/summary")["variants"]] == [20, 20]
    for other in ({"country": "AT"}, {"from": night}):
        refused = error_of(customer.get(f"{path}/results", reached="true", **other), 422, "validation_error")
        assert fields_of(refused) == ["reached"]
    assert customer.post(f"{path}/pause").status_code == 200
    locked = customer.patch(path, {"exposure": {"event": "other"}})
    assert fields_of(error_of(locked, 422, "field_locked")) == ["exposure"]
    copied = customer.post(f"{path}/copy").json()["data"]
    assert copied["exposure"] == {"event": "basket_seen"}
