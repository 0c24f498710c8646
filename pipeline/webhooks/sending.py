"""Sending of messages: to checked addresses, without redirects or proxies, within a limited time."""

import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore2

from pipeline.webhooks.endpoint_addresses import Address, Network, is_of, is_permitted
from pipeline.webhooks.sending_error import SendingError

# From the lookup of the name to the status of the answer.
TIMEOUT_SECONDS: Final = 10.0


class Sender:
    """Sender of messages to public addresses, and to those of the networks."""

    def __init__(self, networks: Sequence[Network], *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Trust the certificate authorities of the system's default."""
        self._networks = networks
        self._timeout = timeout_seconds
        self._context = httpcore2.default_ssl_context()

    def post(self, url: str, headers: Mapping[str, str], content: bytes) -> int:
        """Send a message, and return the status of the answer; SendingError.

        Nothing else of the answer is read.
        """
        deadline = time.monotonic() + self._timeout
        is_plain = urlsplit(url).scheme == "http"
        backend = _CheckedBackend(self._networks, deadline, is_plain=is_plain)
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        try:
            with (
                httpcore2.ConnectionPool(ssl_context=self._context, network_backend=backend) as pool,
                pool.stream(
                    "POST",
                    url,
                    headers=[*headers.items(), ("Connection", "close")],
                    content=content,
                    extensions={"timeout": timeouts},
                ) as answer,
            ):
                return int(answer.status)
        except httpcore2.TimeoutException as error:
            raise SendingError(f"no answer within {self._timeout:g} seconds") from error
        except httpcore2.NetworkError as error:
            raise SendingError(f"the connection failed: {_cause(error)}") from error
        except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol, ValueError) as error:
            raise SendingError("the answer is not HTTP") from error


class _CheckedBackend(httpcore2.SyncBackend):
    """Connections to checked addresses, until a deadline.

    The name is resolved once, every address of it is checked, and the connection is to one of these: a
    second lookup could give another answer.
    """

    def __init__(self, networks: Sequence[Network], deadline: float, *, is_plain: bool) -> None:
        self._networks = networks
        self._deadline = deadline
        self._is_plain = is_plain

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of the host that answers; SendingError where one is not permitted."""
        addresses = _resolved(host, port)
        for address in addresses:
            self._require_permitted(address)
        *others, last = addresses
        for address in others:
            try:
                return self._connect(address, port, local_address, socket_options)
            except httpcore2.NetworkError:
                continue
        return self._connect(last, port, local_address, socket_options)

    def _require_permitted(self, address: Address) -> None:
        if not is_permitted(address, self._networks):
            raise SendingError("the name of the endpoint leads to an address that is not public")
        if self._is_plain and not is_of(address, self._networks):
            raise SendingError("a public address needs https")

    def _connect(
        self, address: Address, port: int, local_address: str | None, options: Iterable[Any] | None
    ) -> httpcore2.NetworkStream:
        left = _left_until(self._deadline)
        stream = super().connect_tcp(str(address), port, left, local_address, options)
        return _TimedStream(stream, self._deadline)


class _TimedStream(httpcore2.NetworkStream):
    """A stream that ends at a deadline, however slowly the other side sends."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - see above
        return self._stream.read(max_bytes, _left_until(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - see above
        self._stream.write(buffer, _left_until(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - see above
    ) -> httpcore2.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, _left_until(self._deadline))
        return _TimedStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        return self._stream.get_extra_info(info)


def _resolved(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SendingError("the name of the endpoint cannot be resolved") from error
    return [ip_address(address) for address in dict.fromkeys(str(info[4][0]) for info in found)]


def _left_until(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the deadline has passed")
    return left


def _cause(error: BaseException) -> str:
    """Say in a few words why a connection failed; a certificate's problem as OpenSSL names it."""
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate is not valid ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return "TLS could not be agreed on"
    if isinstance(cause, ConnectionRefusedError):
        return "it was refused"
    return "it broke off"
