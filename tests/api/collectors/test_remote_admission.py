"""A request through a collector is refused as early, and for the same reason, as in one process."""

import json
from itertools import count
from pathlib import Path

import pytest

from api.collectors.remote_admission import SMALL_BYTES
from api.middleware.rate_limits import RateLimits
from api.sdk.quotas import BrowserQuotas
from pipeline.store.catalog.database import Database
from tests.api.collectors.linked import collector_of
from tests.api.sdk.recorded_requests import BROWSER, RecordedRequest, an_event, an_exposure
from tests.api.sdk.recording import a_service

NO_JSON = b"not JSON"
LARGE = {**BROWSER, "content-length": str(2 * SMALL_BYTES)}
# A small body may become a large one.
COMPRESSED = {**BROWSER, "content-length": "8", "content-encoding": "gzip"}


def an_event_of(event_id: str) -> RecordedRequest:
    return RecordedRequest(body={"batch": [an_event(event_id)]})


@pytest.fixture(params=["small", "large"])
def headers(request: pytest.FixtureRequest) -> dict[str, str]:
    return {**BROWSER, "content-length": "8"} if request.param == "small" else LARGE


def test_a_used_up_limit_comes_before_an_error_of_the_body(tmp_path: Path, headers: dict[str, str]) -> None:
    broken = RecordedRequest(parts=(NO_JSON,), headers=headers)
    with a_service(tmp_path, collector_of, sdk_rate_limit_per_minute=1) as service:
        assert [service.answer(broken)["status"] for _ in range(2)] == [400, 429]


@pytest.mark.parametrize("sent", [LARGE, COMPRESSED], ids=["large", "compressed"])
def test_a_used_up_quota_comes_before_the_body(tmp_path: Path, sent: dict[str, str]) -> None:
    leaving = RecordedRequest(parts=(), headers=sent, leaves=True)
    with a_service(tmp_path, collector_of, address_events_per_minute=1) as service:
        assert service.answer(an_event_of("e1"))["status"] == 200
        # The body never arrives.
        assert service.answer(leaving)["status"] == 429


def test_bytes_of_a_body_that_is_no_json_count(tmp_path: Path) -> None:
    broken = RecordedRequest(parts=(NO_JSON,), headers={**BROWSER, "content-length": "8"})
    with a_service(tmp_path, collector_of, address_bytes_per_minute=len(NO_JSON)) as service:
        assert [service.answer(broken)["status"] for _ in range(2)] == [400, 429]


def test_a_project_that_changes_all_the_time_is_left_to_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = count(1)
    with a_service(tmp_path, collector_of) as service:
        with monkeypatch.context() as patched:
            patched.setattr(Database, "version", property(lambda _: next(versions)), raising=False)
            assert service.answer(an_event_of("e1"))["status"] == 200
        assert service.shop.stored("event_id") == ["e1"]


def test_an_unexpected_error_of_the_owner_is_logged_with_the_request_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("a disk")

    with a_service(tmp_path, collector_of) as service:
        monkeypatch.setattr(BrowserQuotas, "require_room", fail)
        answer = service.answer(an_event_of("e1"))
        assert (answer["status"], json.loads(answer["body"])["error"]["code"]) == (500, "internal_error")
        failure = "ERROR api.middleware.outer_middleware: req_*: POST /api/v1/sdk/track failed"
        assert failure in answer["logged"]


def test_a_failed_count_of_a_shared_limit_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("a socket")

    with a_service(tmp_path, collector_of) as service:
        monkeypatch.setattr(service.shop.customer.services.limits, "is_local", False)
        monkeypatch.setattr(RateLimits, "count", fail)
        assert service.answer(an_event_of("e1"))["status"] == 500


def test_exposures_that_do_not_count_are_those_of_one_process(tmp_path: Path) -> None:
    with a_service(tmp_path, collector_of) as service:
        customer, experiment = service.shop.customer, service.shop.experiment["id"]
        path = f"/projects/{service.shop.project_id}/experiments/{experiment}"
        known = RecordedRequest(body={"batch": [an_exposure("before")]})
        assert service.answer(known)["status"] == 200
        assert customer.post(f"{path}/pause").status_code == 200
        both = [an_exposure("again"), an_event("between"), an_exposure("new", visitor_id="v2")]
        answer = service.answer(RecordedRequest(body={"batch": both}))
        assert "the experiment is paused and takes no new visitors" in answer["body"]
        stored = service.shop.stored("event_id, not_counted")
        assert stored == [
            ("before", None),
            ("again", None),
            ("between", None),
            ("new", "experiment_paused"),
        ]
