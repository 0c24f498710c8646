"""Exchanges: what each answer of the service does to the configuration and to the events that wait."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.builders import an_experiment
from tests.truelift.client.configurations import a_configuration, an_answer
from truelift.client.back_off import LONGEST_SECONDS
from truelift.client.exchanges import Delivery, Polling
from truelift.client.outbox import Outbox

RUNNING = an_experiment(status="running")


def a_delivery(*event_ids: str, **arguments: Any) -> Delivery:
    outbox = Outbox()
    for event_id in event_ids:
        outbox.add({"event_id": event_id})
    delivery = Delivery(outbox, **arguments)
    assert delivery.body("2026-03-02T12:00:00+00:00") is not None
    return delivery


def results_of(*results: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"results": results})


def test_a_configuration_is_asked_for_by_its_tag_and_stays_while_it_is_unchanged() -> None:
    polling = Polling(30)
    assert polling.headers() == {}
    assert polling.take(an_answer(a_configuration(RUNNING), etag='"1"')) == 30
    known = polling.configuration
    assert known is not None
    assert polling.headers() == {"If-None-Match": '"1"'}
    assert polling.take(an_answer(b"", 304)) == 30
    assert polling.configuration is known


@pytest.mark.parametrize(
    ("status", "content"), [(503, b"{}"), (401, b"{}"), (200, b"<html>"), (200, b'{"project_id": "p"}')]
)
def test_a_failure_keeps_the_last_configuration(status: int, content: bytes) -> None:
    polling = Polling(30)
    polling.take(an_answer(a_configuration(RUNNING), etag='"1"'))
    known = polling.configuration
    assert 0 < polling.take(an_answer(content, status)) <= 30
    assert polling.configuration is known
    assert polling.failure
    polling.take(an_answer(b"", 304))
    assert polling.failure is None


def test_a_failure_is_logged_once_while_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    polling = Polling(30)
    for _ in range(5):
        polling.take(an_answer(b"down", 503))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_the_body_names_the_time_and_has_the_events_in_order() -> None:
    outbox = Outbox()
    assert Delivery(outbox).body("2026-03-02T12:00:00+00:00") is None
    outbox.add({"event_id": "a", "type": "click"})
    outbox.add({"event_id": "b"})
    body = Delivery(outbox).body("2026-03-02T12:00:00+00:00")
    assert msgspec.json.decode(body or b"") == {
        "sent_at": "2026-03-02T12:00:00+00:00",
        "batch": [{"event_id": "a", "type": "click"}, {"event_id": "b"}],
    }


def test_both_verdicts_settle_an_event_and_a_rejection_is_told() -> None:
    told: list[Mapping[str, Any]] = []
    delivery = a_delivery("a", "b", on_rejected=told.append)
    rejected = {
        "event_id": "b",
        "status": "rejected",
        "code": "unknown_variant",
        "message": "no such variant",
    }
    assert delivery.take(an_answer(results_of({"event_id": "a", "status": "ok"}, rejected))) == 0
    assert len(delivery.outbox) == 0
    assert told == [rejected]


def test_a_rejection_is_logged_where_nobody_asks_for_it(caplog: pytest.LogCaptureFixture) -> None:
    delivery = a_delivery("a")
    rejected = {"event_id": "a", "status": "rejected", "code": "event_too_old", "message": "too old"}
    delivery.take(an_answer(results_of(rejected)))
    assert "event a was rejected: too old (event_too_old)" in caplog.text


def test_a_listener_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Mapping[str, Any]) -> None:
        raise RuntimeError("broken")

    delivery = a_delivery("a", on_rejected=fail)
    assert delivery.take(an_answer(results_of({"event_id": "a", "status": "rejected"}))) == 0
    assert len(delivery.outbox) == 0
    assert "broken" in caplog.text


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    delivery = a_delivery("a")
    assert delivery.take(an_answer(b"", status, **{"retry-after": "7"})) == 7
    assert list(delivery.outbox.batch()) == ["a"]


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_events_wait_for_a_key_or_a_subscription_that_works(status: int) -> None:
    delivery = a_delivery("a")
    assert delivery.take(an_answer(b"", status)) == LONGEST_SECONDS
    assert list(delivery.outbox.batch()) == ["a"]


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_would_be_refused_again_is_given_up(status: int, caplog: pytest.LogCaptureFixture) -> None:
    delivery = a_delivery("a")
    assert delivery.take(an_answer(b"no", status)) == 0
    assert len(delivery.outbox) == 0
    assert "1 events are given up" in caplog.text


def test_an_answer_that_is_no_verdict_settles_nothing() -> None:
    delivery = a_delivery("a")
    assert delivery.take(an_answer(b"<html>a proxy</html>")) > 0
    assert list(delivery.outbox.batch()) == ["a"]


def test_an_event_that_comes_during_a_request_is_not_settled_by_its_answer() -> None:
    delivery = a_delivery("a")
    delivery.outbox.add({"event_id": "late"})
    delivery.take(an_answer(results_of({"event_id": "a", "status": "ok"})))
    assert list(delivery.outbox.batch()) == ["late"]
