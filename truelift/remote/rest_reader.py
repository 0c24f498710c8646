"""Reader of a service's REST API: pages, errors in a sentence, and waits for limits and failures."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import msgspec

from truelift.client.back_off import BackOff

logger: Final = logging.getLogger("truelift.remote")

PREFIX: Final = "/api/v1"
MOST_ATTEMPTS: Final = 6
# A limit that is over in a moment, and failures on the way to the service or of one that restarts.
_PASSING: Final = frozenset({429, 502, 503, 504})
_OK: Final = 200


class RemoteError(Exception):
    """The service has not given what was asked for; `status` and `code` are those of its answer, or None."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        """Keep the status and the code beside the message."""
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class RestReader:
    """Reads resources with a client that has the address of the service and the key."""

    http: httpx2.Client = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def read(self, path: str, **query: str | None) -> Any:  # noqa: ANN401 - JSON
        """Read one resource; RemoteError."""
        return self._content(path, query)["data"]

    def read_pages(self, path: str, per_page: int = 100, **query: str | None) -> Iterator[dict[str, Any]]:
        """Yield the resources of all pages, each once though others may be added meanwhile; RemoteError."""
        seen: set[str] = set()
        page, last = 1, 1
        while page <= last:
            content = self._content(path, {**query, "page": page, "per_page": per_page})
            for one in content["data"]:
                if one["id"] not in seen:
                    seen.add(one["id"])
                    yield one
            meta = content["meta"]
            # A page may be smaller than asked for.
            last = -(-meta["total"] // meta["per_page"])
            page += 1

    def _content(self, path: str, query: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in query.items() if value is not None}
        response = self._answered(PREFIX + path, given)
        body = _json_of(response)
        if response.status_code != _OK:
            raise _refusal(response.status_code, body)
        if not isinstance(body, dict) or "data" not in body:
            raise RemoteError(
                f"{path} was answered without data; is url the address of a Truelift service?",
                status=response.status_code,
            )
        return body

    def _answered(self, path: str, query: dict[str, Any]) -> httpx2.Response:
        """Ask until there is an answer that stays: a refusal that passes is waited for."""
        back_off = BackOff()
        while True:
            try:
                response = self.http.get(path, params=query)
            except httpx2.TransportError as error:
                if back_off.failures + 1 >= MOST_ATTEMPTS:
                    raise RemoteError(
                        f"the service cannot be reached: {error or type(error).__name__}"
                    ) from error
                headers, why = None, "does not answer"
            else:
                if response.status_code not in _PASSING or back_off.failures + 1 >= MOST_ATTEMPTS:
                    return response
                headers, why = response.headers, f"answers {response.status_code}"
            seconds = back_off.after_failure(headers)
            logger.info("the service %s; asked again in %.1f s", why, seconds)
            self.sleep(seconds)


def _json_of(response: httpx2.Response) -> Any:  # noqa: ANN401 - JSON, None for something else
    try:
        return msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return None


def _refusal(status: int, body: Any) -> RemoteError:  # noqa: ANN401 - JSON
    """Make one sentence of an error's answer, with the fields that are wrong."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or "message" not in error:
        return RemoteError(f"the service answered {status} without a reason", status=status)
    details = error.get("details")
    fields = [
        f"{one['field']} {one['message']}"
        for one in (details if isinstance(details, list) else [])
        if isinstance(one, dict) and {"field", "message"} <= one.keys()
    ]
    # With details, the message only says that there are some.
    text = "; ".join(fields) or error["message"]
    return RemoteError(f"the service answered {status}: {text}", status=status, code=error.get("code"))
