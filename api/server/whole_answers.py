"""Whole answers: head and body in one write, and one search of all headers for what is none."""

from typing import Final

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from api.middleware.answer_headers import RawHeaders

_LENGTH: Final = b"content-length"


async def write_whole(cycle: RequestResponseCycle, status: int, headers: RawHeaders, body: bytes) -> None:
    """Send the answer of a request and response of uvicorn, as `cycle.send` sends it in two messages."""
    names, values = zip(*headers, strict=True)
    is_simple = (
        not cycle.response_started
        and not cycle.disconnected
        and not cycle.flow.write_paused
        and not cycle.access_log
        and b"connection" not in names
        and b"transfer-encoding" not in names
        and dict(headers).get(_LENGTH) == b"%d" % len(body)
        # Otherwise a value could end its header, and begin another.
        and not HEADER_RE.search(b"".join(names))
        and not HEADER_VALUE_RE.search(b"".join(values))
    )
    if not is_simple:
        await cycle.send({"type": "http.response.start", "status": status, "headers": headers})
        await cycle.send({"type": "http.response.body", "body": body, "more_body": False})
        return
    cycle.transport.write(
        answer_bytes(status, (*cycle.default_headers, *headers), body, keep_alive=cycle.keep_alive)
    )
    _end(cycle)


def answer_bytes(status: int, headers: RawHeaders, body: bytes, *, keep_alive: bool) -> bytes:
    """Lay out an answer in HTTP/1.1, whose headers have its length."""
    lines = [*map(b": ".join, headers)]
    if not keep_alive:
        lines.append(b"connection: close")
    return STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + body


def _end(cycle: RequestResponseCycle) -> None:
    cycle.waiting_for_100_continue = False
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
