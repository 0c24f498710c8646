"""Log lines: time, level and request id; mistakes in one line, and outages in one a minute."""

import logging

import pytest

from api.logs import LineFormatter, OneSentence, logged_path, request_id
from engine.errors import EngineError
from pipeline.store.catalog.errors import CatalogBusyError


def line_of(message: str, *arguments: object, failure: Exception | None = None) -> str:
    information = (type(failure), failure, failure.__traceback__) if failure else None
    record = logging.LogRecord("api.x", logging.ERROR, "x.py", 1, message, arguments, information)
    record.created = 1772440200.25
    record.msecs = 250.0
    return LineFormatter().format(record)


def test_a_line_has_time_level_request_and_message() -> None:
    assert line_of("a %s", "b") == "2026-03-02T08:30:00.250Z ERROR - api.x: a b"
    token = request_id.set("req_1")
    assert line_of("a") == "2026-03-02T08:30:00.250Z ERROR req_1 api.x: a"
    request_id.reset(token)


def test_a_message_is_one_line_and_its_traceback_follows() -> None:
    assert line_of("GET /x\n2026 ERROR forged").count("\n") == 0
    printed = line_of("failed", failure=ValueError("two\nlines")).splitlines()
    assert printed[0].endswith("api.x: failed")
    assert printed[-2:] == ["ValueError: two", "lines"]


def test_a_path_is_logged_without_the_id_of_a_visitor() -> None:
    assert logged_path("/api/v1/projects/prj_1/visitors/ann%2Fx") == "/api/v1/projects/prj_1/visitors/…"
    assert logged_path("/api/v1/projects/prj_1/runs") == "/api/v1/projects/prj_1/runs"


def logged(sentences: OneSentence, failure: BaseException | None, **named: str) -> str | None:
    """Return the line of a failure; None where it is not logged."""
    information = (type(failure), failure, None) if failure else None
    record = logging.LogRecord("api.x", logging.ERROR, "x.py", 1, "job %s failed", ("a",), information)
    vars(record).update(named)
    return LineFormatter().format(record).partition("api.x: ")[2] if sentences.filter(record) else None


def test_expected_failures_are_one_line_and_others_keep_their_traceback() -> None:
    sentences = OneSentence()
    mistakes = ExceptionGroup("2 of 9", [EngineError("no goal"), EngineError("no control")])
    assert logged(sentences, mistakes) == "job a failed: no goal; no control"
    defect = logged(sentences, ExceptionGroup("3 of 9", [*mistakes.exceptions, ValueError("x")]))
    assert defect is not None
    assert defect.count("\n") > 3
    assert logged(sentences, None) == "job a failed"


def test_an_outage_is_one_line_a_minute_whatever_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences, clock = OneSentence(), 1000.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    busy = CatalogBusyError("the catalog does not answer in time; try again")
    busy.__cause__ = OSError("connection\nrefused")
    first = logged(sentences, busy)
    assert first == "the catalog does not answer, which is said once a minute: connection refused"
    assert logged(sentences, ExceptionGroup("all", [busy])) is None
    assert logged(sentences, None, outage="catalog") is None
    assert logged(sentences, None, outage="warehouse") == "job a failed"
    clock += 59
    assert logged(sentences, busy) is None
    clock += 1
    assert logged(sentences, busy) == first
