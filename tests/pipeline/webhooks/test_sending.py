"""Messages reach permitted addresses only, in a limited time, whatever the endpoint does."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, ip_network
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pipeline.webhooks.sending import Sender
from pipeline.webhooks.sending_error import SendingError
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, an_endpoint

HERE = (ip_network(LOOPBACK),)
HEADERS = {"Content-Type": "application/json", "webhook-id": "msg_1"}


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let names lead to addresses, one list a lookup; returns the names that were looked up."""

    def install(*lookups: list[str]) -> list[str]:
        asked: list[str] = []
        own = socket.getaddrinfo

        def answer(host: str, port: int, *arguments: Any, **named: Any) -> list[Any]:
            if host[0].isdigit():
                return own(host, port, *arguments, **named)
            addresses = lookups[min(len(asked), len(lookups) - 1)]
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", answer)
        return asked

    return install


def test_a_message_is_sent_as_it_is() -> None:
    with an_endpoint() as endpoint:
        assert Sender(HERE).post(endpoint.url + "?team=1", HEADERS, b'{"a":1}') == 204
        (received,) = endpoint.received
    assert (received.path, received.body) == ("/hooks?team=1", b'{"a":1}')
    assert HEADERS.items() <= {**received.headers, "Content-Type": received.headers["content-type"]}.items()


def test_a_private_address_is_refused_without_a_connection() -> None:
    with an_endpoint() as endpoint:
        with pytest.raises(SendingError, match="not public"):
            Sender(()).post(endpoint.url, HEADERS, b"{}")
        with pytest.raises(SendingError, match="not public"):
            Sender(()).post(endpoint.url.replace("http:", "https:"), HEADERS, b"{}")
        assert not endpoint.received


def test_a_name_that_leads_to_a_private_address_is_refused(resolve: Callable[..., list[str]]) -> None:
    resolve(["8.8.8.8", "127.0.0.1"])
    with pytest.raises(SendingError, match="not public"):
        Sender(()).post("https://shop.example/", HEADERS, b"{}")


def test_a_name_is_resolved_once(resolve: Callable[..., list[str]]) -> None:
    # The second answer would be the one that a check of the first does not see.
    with an_endpoint() as endpoint:
        port = endpoint.url.rpartition(":")[2]
        asked = resolve(["127.0.0.1"], ["169.254.169.254"])
        assert Sender(HERE).post(f"http://shop.example:{port}", HEADERS, b"{}") == 204
        assert asked == ["shop.example"]
        assert endpoint.received[0].headers["host"] == f"shop.example:{port.removesuffix('/hooks')}"


def test_a_public_address_needs_https(resolve: Callable[..., list[str]]) -> None:
    resolve(["8.8.8.8"])
    with pytest.raises(SendingError, match="needs https"):
        Sender(HERE).post("http://shop.example/", HEADERS, b"{}")


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with an_endpoint() as other, an_endpoint() as endpoint:
        endpoint.status, endpoint.location = 307, other.url
        assert Sender(HERE).post(endpoint.url, HEADERS, b"{}") == 307
        assert not other.received


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with an_endpoint() as proxy, an_endpoint() as endpoint:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert Sender(HERE).post(endpoint.url, HEADERS, b"{}") == 204
        assert (len(endpoint.received), proxy.received) == (1, [])


@contextmanager
def a_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Accept one connection, and answer it by hand."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection, suppress(OSError):
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_an_endpoint_that_sends_byte_by_byte_is_given_up() -> None:
    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        while not is_given_up.wait(0.05):
            connection.sendall(b"X")

    is_given_up = threading.Event()
    with a_server(drip) as url:
        # Each byte comes in time: without the deadline this would end with the limit of a head only.
        with pytest.raises(SendingError, match=r"no answer within 0\.5 seconds"):
            Sender(HERE, timeout_seconds=0.5).post(url, HEADERS, b"{}")
        is_given_up.set()


def test_the_body_of_an_answer_is_not_read() -> None:
    def flood(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n")
        while True:
            connection.sendall(b"x" * 2**16)

    with a_server(flood) as url:
        assert Sender(HERE).post(url, HEADERS, b"{}") == 200


@pytest.mark.parametrize("nonsense", [b"SSH-2.0-OpenSSH_9.9\r\n", b"HTTP/1.1 abc\r\n\r\n", b""])
def test_what_is_not_http_is_an_error(nonsense: bytes) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(nonsense)

    with a_server(answer) as url, pytest.raises(SendingError):
        Sender(HERE).post(url, HEADERS, b"{}")


def test_a_refused_connection_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(SendingError, match="it was refused"):
        Sender(HERE).post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")


def test_a_name_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(SendingError, match="cannot be resolved"):
        Sender(()).post("https://shop.example/", HEADERS, b"{}")


def self_signed(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Make a certificate of 127.0.0.1 that no authority has signed; returns it and a server's context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context, path


def test_an_https_endpoint_needs_a_valid_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, certificate = self_signed(tmp_path)
    with an_endpoint(context) as endpoint:
        with pytest.raises(SendingError, match="certificate is not valid"):
            Sender(HERE).post(endpoint.url, HEADERS, b"{}")
        assert not endpoint.received
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert Sender(HERE).post(endpoint.url, HEADERS, b"{}") == 204
