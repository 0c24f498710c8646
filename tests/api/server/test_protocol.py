"""Connections of clients that are slow, silent or greedy: others are answered, and each is ended."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from api.app import create_app
from api.server import protocol
from api.server.config import server_config
from api.server.protocol import FREE_PARTS, MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED, MAX_TARGET_BYTES
from pipeline.settings import Settings
from tests.api.customers import a_customer
from tests.api.serving import served
from tests.waiting import wait_until

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
HEALTH_AND_END = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
HALF_BODY = b"POST /api/v1/sdk/track HTTP/1.1\r\nHost: a\r\nX-SDK-Key: KEY\r\nContent-Length: 100\r\n\r\n{"
CHUNKED = (
    b"POST /api/v1/sdk/track HTTP/1.1\r\nHost: a\r\nX-SDK-Key: KEY\r\nTransfer-Encoding: chunked\r\n\r\n"
)
# Default of `keepalive_timeout` in an upstream of nginx.
NGINX_SECONDS = 60
OPENAPI = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module")
def served_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), max_connections=200)
    app = create_app(settings)
    with served(app, settings) as client:
        customer = a_customer(client, app.state.services)
        project_id = customer.a_project().rpartition("/")[2]
        client.headers["X-SDK-Key"] = customer.services.catalog.projects.find(project_id).sdk_key
        yield client


@contextmanager
def opened(client: httpx2.Client, sent: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=60) as connection:
        connection.sendall(sent.replace(b"KEY", client.headers.get("X-SDK-Key", "").encode()))
        yield connection


def answer_of(connection: socket.socket) -> bytes:
    """Read to the end of the connection, which a reset is, too."""
    received = b""
    with suppress(ConnectionError):
        while part := connection.recv(2**16):
            received += part
    return received


def is_alive(client: httpx2.Client) -> bool:
    # As long as a busy machine takes.
    return client.get("/healthz", headers={"Connection": "close"}, timeout=120).status_code == 200


@pytest.mark.parametrize("kind", [b"", HALF_HEAD, HALF_BODY, HEALTH, CHUNKED + b"1\r\n{\r\n"])
def test_more_half_open_connections_than_there_are_places_leave_others_answered(
    served_client: httpx2.Client, kind: bytes
) -> None:
    with ExitStack() as stack:
        for number in range(1_100):
            stack.enter_context(opened(served_client, kind))
            if number % 100 == 99:
                assert is_alive(served_client)
        assert all(is_alive(served_client) for _ in range(20))


@pytest.mark.long(seconds=10)
def test_clients_that_read_no_answer_leave_others_answered(served_client: httpx2.Client) -> None:
    with ExitStack() as stack:
        for _ in range(220):
            stack.enter_context(opened(served_client, OPENAPI * 2))
        assert all(is_alive(served_client) for _ in range(20))


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("HEAD_SECONDS", b""),
        ("HEAD_SECONDS", HALF_HEAD),
        ("HEAD_SECONDS", b"\r\n"),
        ("HEAD_SECONDS", HEALTH + HALF_HEAD),
        ("BODY_SECONDS", HALF_BODY),
        ("BODY_SECONDS", CHUNKED + b"1\r\n{\r\n"),
        # Answered 413 before the body is there.
        ("BODY_SECONDS", HALF_BODY.replace(b"100", b"9999999")),
    ],
)
def test_what_is_not_completed_in_time_is_ended(
    served_client: httpx2.Client, monkeypatch: pytest.MonkeyPatch, name: str, sent: bytes
) -> None:
    monkeypatch.setattr(protocol, name, 0.1)
    with opened(served_client, sent) as connection:
        # It would time out if the service did not end it.
        answer_of(connection)


@pytest.mark.parametrize("first", [HALF_HEAD, HALF_BODY, CHUNKED])
def test_a_trickle_is_no_progress(
    served_client: httpx2.Client, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.1)
    more = {HALF_HEAD: b"X: y\r\n", HALF_BODY: b" ", CHUNKED: b"1\r\n \r\n"}[first]
    with opened(served_client, first) as connection:

        def is_ended() -> bool:
            try:
                connection.sendall(more)
            except ConnectionError:
                return True
            return False

        assert wait_until(is_ended)


@pytest.mark.parametrize("sent", [HEALTH, HEALTH + b"\r\n"])
def test_an_idle_connection_is_closed_after_its_limit(tmp_path: Path, sent: bytes) -> None:
    settings = Settings(data_dir=tmp_path)
    with (
        served(create_app(settings), settings, timeout_keep_alive=0.2) as client,
        opened(client, sent) as connection,
    ):
        # It would time out if the service did not close it.
        assert answer_of(connection).startswith(b"HTTP/1.1 200 ")


def test_an_idle_connection_is_kept_longer_than_by_proxies(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    config = server_config(create_app(settings), settings)
    assert config.timeout_keep_alive == protocol.IDLE_SECONDS > NGINX_SECONDS


def test_a_slow_body_that_keeps_coming_is_read(
    served_client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended: list[float] = []
    expect = protocol.BoundedProtocol.expect

    def noting(self: protocol.BoundedProtocol, phase: protocol.Phase, seconds: float) -> None:
        if phase is protocol.Phase.BODY:
            extended.append(seconds)
        expect(self, phase, seconds)

    monkeypatch.setattr(protocol.BoundedProtocol, "expect", noting)
    size = 5 * protocol.BODY_BYTES
    head = CHUNKED.replace(b"Transfer-Encoding: chunked", f"Content-Length: {size}".encode())
    with opened(served_client, head) as connection:
        for times in range(1, 6):
            assert wait_until(lambda times=times: len(extended) >= times)  # type: ignore[misc] # bound at once
            connection.sendall(b" " * protocol.BODY_BYTES)
        assert b" 400 " in connection.recv(2**16)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * MAX_TARGET_BYTES + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (MAX_HEADERS + 1) + b"\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * MAX_HEAD_BYTES + b"\r\n\r\n",
        # It never ends.
        b"GET / HTTP/1.1\r\nX: " + b"y" * 2 * MAX_HEAD_BYTES,
        b"GET /" + b"x" * 2 * MAX_HEAD_BYTES,
    ],
    ids=["target", "headers", "bytes", "endless header", "endless target"],
)
def test_a_head_beyond_its_bounds_is_refused(served_client: httpx2.Client, head: bytes) -> None:
    with opened(served_client) as connection:
        with suppress(ConnectionError):
            connection.sendall(head)
        answer = answer_of(connection)
    # A client that is still sending may lose the answer.
    assert not answer or answer.startswith(b"HTTP/1.1 413 ")
    if answer:
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == "payload_too_large"
        assert f"x-request-id: {error['request_id']}".encode() in answer.lower()
    assert is_alive(served_client)


def test_a_head_within_its_bounds_is_answered(served_client: httpx2.Client) -> None:
    headers = {f"X-{number}": "y" * 600 for number in range(90)}
    assert served_client.get("/healthz?" + "x" * 8_000, headers=headers).status_code == 200


def test_small_parts_and_many_requests_at_once_are_refused(served_client: httpx2.Client) -> None:
    parts = CHUNKED + b"1\r\n \r\n" * 10_000
    requests = HEALTH * 10_000
    for sent in (parts, requests):
        with opened(served_client) as connection:
            with suppress(ConnectionError):
                connection.sendall(sent)
            assert answer_of(connection).count(b" 200 ") <= 2 * MAX_PIPELINED
    assert is_alive(served_client)


def test_a_few_requests_at_once_are_all_answered(served_client: httpx2.Client) -> None:
    with opened(served_client, HEALTH * 5 + HEALTH_AND_END) as connection:
        assert answer_of(connection).count(b"HTTP/1.1 200 ") == 6


def test_an_answer_that_is_never_read_is_given_up(
    served_client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.1)
    with opened(served_client) as connection:
        connection.settimeout(1)

        def is_ended() -> bool:
            try:
                connection.sendall(OPENAPI)
            except TimeoutError:
                return False
            except ConnectionError:
                return True
            return False

        assert wait_until(is_ended)


def test_a_connection_beyond_all_places_is_told_to_come_back(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, trusted_proxies="", connections_per_address=1)
    with (
        served(create_app(settings), settings) as client,
        opened(client, HALF_HEAD),
        opened(client) as second,
    ):
        answer = answer_of(second)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer.lower()
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "unavailable"


@pytest.mark.parametrize(
    "framing", [b"Content-Length: %d\r\n\r\n%b", b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"]
)
@pytest.mark.parametrize("connection_header", [b"Upgrade", b"close, Upgrade"])
def test_the_body_of_a_request_with_an_upgrade_is_its_body_and_no_request(
    served_client: httpx2.Client, monkeypatch: pytest.MonkeyPatch, framing: bytes, connection_header: bytes
) -> None:
    phases: list[protocol.Phase] = []
    expect = protocol.BoundedProtocol.expect

    def noting(self: protocol.BoundedProtocol, phase: protocol.Phase, seconds: float) -> None:
        phases.append(phase)
        expect(self, phase, seconds)

    monkeypatch.setattr(protocol.BoundedProtocol, "expect", noting)
    head, end, body = (framing % (len(HEALTH), HEALTH)).partition(b"\r\n\r\n")
    target = HALF_BODY.partition(b"Content-Length")[0]
    asking = b"Connection: " + connection_header + b"\r\nUpgrade: h2c\r\n"
    with opened(served_client, target + asking + head + end) as connection:
        # The body comes once the head is read.
        assert wait_until(lambda: protocol.Phase.BODY in phases)
        connection.sendall(body + HEALTH_AND_END)
        answer = answer_of(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"invalid_json"' in answer
    assert answer.count(b"HTTP/1.1 ") == (1 if b"close" in connection_header else 2)


def test_requests_with_an_upgrade_are_answered_in_their_order(served_client: httpx2.Client) -> None:
    asking = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    last = HEALTH_AND_END.replace(b"healthz", b"nowhere")
    with opened(served_client, asking * 3 + HEALTH + last) as connection:
        statuses = [part[:3] for part in answer_of(connection).split(b"HTTP/1.1 ")]
    assert statuses == [b"", *[b"200"] * 4, b"404"]


@pytest.mark.parametrize(
    "sent", [b"no HTTP at all\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
)
def test_what_is_no_request_is_answered_in_the_envelope_of_errors(
    served_client: httpx2.Client, sent: bytes
) -> None:
    with opened(served_client, sent) as connection:
        head, _, body = answer_of(connection).partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    error = json.loads(body)["error"]
    assert (status, error["code"]) == ("HTTP/1.1 400 Bad Request", "invalid_request")
    assert error["request_id"] == headers["x-request-id"]
    assert (headers["connection"], headers["content-type"]) == ("close", "application/json")


def test_no_tunnel_is_opened(served_client: httpx2.Client) -> None:
    with opened(served_client, b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" + HEALTH) as connection:
        answer = answer_of(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_trailer_is_no_header(served_client: httpx2.Client) -> None:
    without_key = CHUNKED.replace(b"X-SDK-Key: KEY\r\n", b"Connection: close\r\n")
    with opened(served_client, without_key + b"1\r\n{\r\n0\r\nX-SDK-Key: KEY\r\n\r\n") as connection:
        assert answer_of(connection).startswith(b"HTTP/1.1 401 ")


def test_many_trailers_are_refused(served_client: httpx2.Client) -> None:
    with opened(served_client, CHUNKED + b"1\r\n{\r\n0\r\n") as connection:
        with suppress(ConnectionError):
            connection.sendall(b"X: y\r\n" * 2 * FREE_PARTS)
        # It would time out if the service waited for the last one.
        answer_of(connection)
