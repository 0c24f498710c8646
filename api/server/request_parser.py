"""Parser of HTTP/1.1 requests that ignores `Upgrade`, as a server of no other protocol may."""

from typing import Protocol

import httptools

IGNORED = b"upgrade"


class RestartedRequest(Protocol):
    """Callbacks of a parser, with the request that has been parsed so far."""

    url: bytes
    headers: list[tuple[bytes, bytes]]


class RequestParser(httptools.HttpRequestParser):
    """Parser that gives a request with `Upgrade` to its callbacks once more, as one without.

    httptools reads no body of a request that asks for an upgrade: it completes the message after the head,
    and takes what follows for another protocol's. So callbacks leave a message alone for which
    `should_upgrade` is true. A server may ignore the header: RFC 9110, section 7.8.
    """

    def __init__(self, request: RestartedRequest) -> None:
        """Call back the methods of `request`."""
        self._request = request
        self._begin()

    def feed_data(self, data: bytes) -> None:  # type: ignore[override] # as a transport gives them
        """Parse the next bytes; HttpParserError."""
        while True:
            try:
                super().feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                (size,) = upgrade.args
                data = self._head_without_upgrade() + data[size:]
                # After `Connection: close` it would read nothing more.
                self._begin()
            else:
                return

    def _begin(self) -> None:
        super().__init__(self._request)
        # As in uvicorn: bytes behind a request that closes the connection are ignored, not answered 400.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def _head_without_upgrade(self) -> bytes:
        version = self.get_http_version().encode()
        lines = [self.get_method() + b" " + self._request.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self._request.headers if name != IGNORED]
        return b"\r\n".join([*lines, b"", b""])
