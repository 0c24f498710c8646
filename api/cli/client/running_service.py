"""The running service of a data folder, asked over HTTP by commands on the same machine."""

import json
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlencode, urlsplit

from api.cli.client.command_keys import command_key
from api.cli.console import CommandError
from api.cli.listening import ON_THIS_MACHINE
from api.cli.stores import settings_for
from pipeline.store.ownership.store_lock import find_owner

if TYPE_CHECKING:
    from pipeline.settings import Settings
    from pipeline.store.catalog.catalog import Catalog
    from pipeline.store.ownership.owner import Owner

# Longer than the service takes for its slowest answers.
TIMEOUT_SECONDS: Final = 120.0
# Requests that are refused for a while, by a limit or by a busy store, are sent again for so long.
RETRY_SECONDS: Final = 90.0
_CHUNK_BYTES: Final = 2**20
ReadAnswer = Callable[[HTTPResponse], Any]
_RETRIED: Final = frozenset({429, 503})
# A service that listens on every address is reached on the one of this machine.


class ServiceRefusedError(CommandError):
    """A request that the service refuses, with the code of its error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Keep the HTTP status and the code of the error."""
        self.status = status
        self.code = code
        super().__init__(message)


class ServiceGoneError(CommandError):
    """A service that ended before it answered; a request with an Idempotency-Key may be sent again."""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that owns the store of `settings`, at the address that its lock file names."""

    settings: "Settings"
    owner: "Owner"
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address on this machine."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def connection(self, seconds: float | None) -> HTTPConnection:
        """Return a connection, which opens with its first request."""
        return HTTPConnection(self.host, self.port, timeout=seconds)

    def client(self, catalog: "Catalog", account_id: str) -> "ServiceClient":
        """Return a client with the account's key for commands, made on first use; CommandError."""
        return ServiceClient(self, command_key(self.settings, catalog, account_id))


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A service anywhere, at its URL without a path."""

    url: str

    def connection(self, seconds: float | None) -> HTTPConnection:
        """Return a connection, encrypted where the URL has https; CommandError for any other."""
        address = urlsplit(self.url)
        kind = {"http": HTTPConnection, "https": HTTPSConnection}.get(address.scheme)
        if kind is None or not address.hostname or address.path.strip("/"):
            raise CommandError(f"{self.url!r} is no URL of a service, such as https://ab.example.com")
        connection: HTTPConnection = kind(address.hostname, address.port, timeout=seconds)
        return connection


def find_service(data_dir: Path) -> RunningService | None:
    """Find the service that owns the store in `data_dir`; None where no service does.

    CommandError for a service on another machine, which this one cannot reach by the same address.
    """
    settings = settings_for(data_dir)
    owner = find_owner(settings)
    if owner is None or owner.address is None:
        return None
    if owner.host != socket.gethostname():
        raise CommandError(f"the store in {data_dir} is served by {owner}: run the command on {owner.host}")
    address = urlsplit(owner.address)
    host = address.hostname or ""
    return RunningService(settings, owner, ON_THIS_MACHINE.get(host, host), address.port or 80)


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """Client of a running service; answers are the decoded bodies, with `data` and `meta`.

    Raises ServiceRefusedError for an error of the API, and ServiceGoneError where the service ends.
    """

    service: "RunningService | RemoteService"
    token: str
    # None where the service may take any time.
    timeout_seconds: float | None = TIMEOUT_SECONDS

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send a GET request; parameters that are None are left out."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._send("GET", f"{path}?{urlencode(given)}" if given else path, None, {}, _decoded)

    def download(self, path: str, query: Mapping[str, str], file: BinaryIO) -> None:
        """Write the body of the answer to a GET request into an empty file; CommandError where it cannot."""
        self._send("GET", f"{path}?{urlencode(query)}", None, {}, partial(_copy, file=file))

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send a JSON object; with a `key` a repeated request is carried out once."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        return self._send("POST", path, json.dumps(body).encode(), headers, _decoded)

    def send_file(self, path: str, query: Mapping[str, str], content: bytes, media_type: str) -> Any:  # noqa: ANN401 - JSON
        """Send a file as the body of a POST request."""
        return self._send(
            "POST", f"{path}?{urlencode(query)}", content, {"Content-Type": media_type}, _decoded
        )

    def delete(self, path: str, query: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
        """Send a DELETE request."""
        return self._send("DELETE", f"{path}?{urlencode(query)}", None, {}, _decoded)

    def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], read: ReadAnswer
    ) -> Any:  # noqa: ANN401 - what is read
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            status, answer, seconds = self._exchange(method, path, body, headers, read)
            if status < 400:
                return answer
            if status not in _RETRIED or time.monotonic() + seconds > deadline:
                raise _refused(status, answer)
            time.sleep(seconds)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], read: ReadAnswer
    ) -> tuple[int, Any, float]:
        """Return status, what was read, and the seconds to wait before another try."""
        connection = self.service.connection(self.timeout_seconds)
        given = {**headers, "Authorization": f"Bearer {self.token}"}
        try:
            # A large body may be refused, and the connection closed, before all of it is sent.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, given)
            answer = connection.getresponse()
            content = (read if answer.status < 400 else _decoded)(answer)
            return answer.status, content, float(answer.headers.get("Retry-After") or 1)
        except (OSError, HTTPException, ValueError) as error:
            raise ServiceGoneError(
                f"the service at {self.service.url} ended or does not answer "
                f"({str(error) or type(error).__name__}); see its log, and run the command again"
            ) from error
        finally:
            connection.close()


def _copy(answer: HTTPResponse, *, file: BinaryIO) -> None:
    copied = 0
    while chunk := answer.read(_CHUNK_BYTES):
        try:
            file.write(chunk)
        except OSError as failure:
            raise CommandError(f"the answer cannot be written: {failure.strerror}") from None
        copied += len(chunk)
    # A part is no answer: reading in chunks ends without an error where the service does.
    if copied != int(answer.headers["Content-Length"]):
        raise IncompleteRead(b"")


def _decoded(answer: HTTPResponse) -> Any:  # noqa: ANN401 - JSON
    content = answer.read()
    return json.loads(content) if content else None


def _refused(status: int, answer: Any) -> ServiceRefusedError:  # noqa: ANN401 - JSON
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    details = [f"{one['field']}: {one['message']}" for one in error.get("details", ())]
    message = "; ".join(details) or error.get("message") or f"status {status}"
    return ServiceRefusedError(status, error.get("code", ""), f"the service refuses this: {message}")
