"""Nothing of a visitor who has not agreed is stored, whichever endpoint takes the request."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.sdk.recorded_requests import BROWSER, SERVER, RecordedRequest, an_event, an_exposure
from tests.api.sdk.recording import AppOf, Service, a_service, the_app
from tests.api.server.exchanges import Way

TRACK = "/api/v1/sdk/track"
CONVERT = "/api/v1/sdk/convert"
INIT = "/api/v1/sdk/init"
SIGNAL = {**BROWSER, "sec-gpc": "1"}
ORDER = {"event_id": "o1", "visitor_id": "v1", "event_name": "purchase", "revenue_cents": 500}
VISIT = {"visitor_id": "v1", "user_id": "u1", "attributes": {"plan": "pro"}}
EVENTS = {"batch": [an_exposure("e1"), an_event("e2"), an_event("e3", visitor_id="undefined")]}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=[the_app, Way(is_direct=True)], ids=["app", "direct"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    app_of: AppOf = request.param
    with a_service(tmp_path_factory.mktemp("store"), app_of) as opened:
        yield opened


@pytest.fixture
def ask(service: Service) -> Ask:
    def ask_with(target: str, body: object, headers: dict[str, str] = BROWSER) -> dict[str, Any]:
        answer = service.answer(RecordedRequest(target=target, body=body, headers=headers))
        assert answer["status"] == 200, answer
        return dict(json.loads(answer["body"]))

    return ask_with


def configure(service: Service, **settings: bool) -> None:
    names = ("respect_dnt", "respect_gpc", "require_consent")
    given = {name: settings.get(name, False) for name in names}
    shop = service.shop
    answer = shop.customer.patch(f"/projects/{shop.project_id}", {"settings": given})
    assert answer.status_code == 200


def codes_of(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(result["status"], result["code"]) for result in answer["results"]]


def test_valid_events_are_answered_not_counted_and_are_not_stored(service: Service, ask: Ask) -> None:
    configure(service, respect_gpc=True)
    before = service.shop.stored_count()
    tracked = ask(TRACK, EVENTS, SIGNAL)
    assert codes_of(tracked) == [("ok", "not_counted")] * 2 + [("rejected", "invalid_visitor_id")]
    assert (tracked["accepted"], tracked["rejected"]) == (2, 1)
    assert "respect_gpc" in tracked["results"][0]["message"]
    assert codes_of(ask(CONVERT, ORDER, SIGNAL)) == [("ok", "not_counted")]
    assert service.shop.stored_count() == before


def test_a_visit_is_assigned_and_leaves_no_trace(service: Service, ask: Ask) -> None:
    configure(service, respect_gpc=True)
    before = service.shop.stored_count()
    for _ in range(2):
        (assignment,) = ask(INIT, VISIT, SIGNAL)["assignments"]
        assert assignment["status"] == "new"
    assert service.shop.stored_count() == before


def test_consent_is_said_in_the_query(service: Service, ask: Ask) -> None:
    configure(service, require_consent=True)
    event = {"batch": [an_event("agreed")]}
    assert codes_of(ask(TRACK, event)) == [("ok", "not_counted")]
    # The same event again, once the visitor has agreed.
    assert codes_of(ask(f"{TRACK}?consent=granted", event)) == [("ok", None)]
    assert "agreed" in service.shop.stored()


def test_a_server_decides_for_its_visitors_itself(service: Service, ask: Ask) -> None:
    configure(service, respect_dnt=True, respect_gpc=True, require_consent=True)
    headers = {**SERVER, "dnt": "1", "sec-gpc": "1"}
    body = {"batch": [an_event("by a server")], "project_id": "{project}"}
    assert codes_of(ask(TRACK, body, headers)) == [("ok", None)]
    assert "by a server" in service.shop.stored()


def test_signals_mean_nothing_where_the_project_does_not_respect_them(service: Service, ask: Ask) -> None:
    configure(service)
    headers = {**SIGNAL, "dnt": "1"}
    assert codes_of(ask(TRACK, {"batch": [an_event("as before")]}, headers)) == [("ok", None)]
    assert "as before" in service.shop.stored()


@pytest.mark.parametrize(("target", "body"), [(TRACK, {"batch": []}), (CONVERT, ORDER), (INIT, {})])
def test_the_first_call_of_an_own_page_verifies_the_snippet(
    tmp_path: Path, target: str, body: object
) -> None:
    with a_service(tmp_path, the_app) as service:
        shop = service.shop
        verified = []
        for origin in ("https://elsewhere.example", "https://shop.example", "https://shop.example"):
            headers = {**BROWSER, "origin": origin}
            assert service.answer(RecordedRequest(target=target, body=body, headers=headers))["status"] == 200
            verified.append(shop.customer.data_of(f"/projects/{shop.project_id}")["snippet_verified"])
    assert verified == [False, True, True]
