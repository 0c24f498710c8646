"""Log lines: time, level and request id, in the service itself too."""

import logging

from api.logs import LineFormatter, logged_path, request_id


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
