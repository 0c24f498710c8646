"""Exchanges with the service: what to ask for, and what its answers mean, without any network."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from truelift.client.back_off import LONGEST_SECONDS, BackOff
from truelift.client.configuration import Configuration, UnreadableConfigurationError
from truelift.client.outbox import Outbox

logger: Final = logging.getLogger("truelift.client")

OK: Final = 200
_NOT_MODIFIED: Final = 304
# The body itself is refused, so that it would be again.
UNUSABLE: Final = frozenset({400, 413, 415, 422})
# Until somebody changes the key, the subscription or the project.
_REFUSED: Final = frozenset({401, 402, 403, 404})


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def __str__(self) -> str:
        """Describe the answer in a log."""
        return f"{self.status} {self.content[:200].decode(errors='replace')}"


class _Result(msgspec.Struct):
    event_id: str | None
    status: str
    code: str | None = None
    message: str | None = None


class _Results(msgspec.Struct):
    results: list[_Result]


_decode: Final = msgspec.json.Decoder(_Results).decode


@dataclass(slots=True)
class Polling:
    """The configuration, asked for again and again; an answer that has not changed costs no body."""

    poll_seconds: float
    configuration: Configuration | None = None
    # Why the last attempt failed; None after one that did not.
    failure: str | None = None
    _etag: str | None = None
    _back_off: BackOff = field(default_factory=BackOff)

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request, besides that of the key."""
        return {} if self._etag is None else {"If-None-Match": self._etag}

    def take(self, answer: Answer) -> float:
        """Take an answer, and return the seconds until the next request."""
        if answer.status == _NOT_MODIFIED:
            return self._succeeded()
        if answer.status != OK:
            return self.fail(str(answer), answer.headers)
        try:
            self.configuration = Configuration.from_json(answer.content)
        except UnreadableConfigurationError as error:
            return self.fail(str(error))
        self._etag = answer.headers.get("etag")
        return self._succeeded()

    def fail(self, reason: str, headers: Mapping[str, str] | None = None) -> float:
        """Take a failure, and return the seconds until the next request; the last configuration stays."""
        if self.failure != reason:
            logger.warning("the experiments cannot be read: %s", reason)
        self.failure = reason
        return min(self._back_off.after_failure(headers), max(self.poll_seconds, 1.0))

    def _succeeded(self) -> float:
        self.failure = None
        self._back_off.after_success()
        return self.poll_seconds


@dataclass(slots=True)
class Delivery:
    """Delivery of the events of an outbox, batch by batch."""

    outbox: Outbox
    # Called with the result of each event that the service rejects: `event_id`, `code` and `message`.
    on_rejected: Callable[[Mapping[str, Any]], None] | None = None
    _sent: dict[str, bytes] = field(default_factory=dict)
    _back_off: BackOff = field(default_factory=BackOff)

    def body(self, sent_at: str) -> bytes | None:
        """Return the body of the next request; None where nothing waits."""
        self._sent = self.outbox.batch()
        if not self._sent:
            return None
        return b'{"sent_at":"' + sent_at.encode() + b'","batch":[' + b",".join(self._sent.values()) + b"]}"

    def take(self, answer: Answer) -> float:
        """Take the answer to the last body, and return the seconds until the next request."""
        if answer.status == OK:
            try:
                return self._settle(_decode(answer.content).results)
            except msgspec.MsgspecError as error:
                return self.fail(f"the answer cannot be read: {error}")
        if answer.status in UNUSABLE:
            logger.error("%d events are given up, the service refuses them: %s", len(self._sent), answer)
            self.outbox.settle(self._sent)
            return 0.0
        if answer.status in _REFUSED:
            logger.error("%d events wait, the service refuses the client: %s", len(self.outbox), answer)
            self._back_off.after_failure()
            return LONGEST_SECONDS
        return self.fail(str(answer), answer.headers)

    def fail(self, reason: str, headers: Mapping[str, str] | None = None) -> float:
        """Take a failure, and return the seconds until the next request; the events stay."""
        if self._back_off.failures == 0:
            logger.warning("%d events wait, the service does not take them: %s", len(self.outbox), reason)
        return self._back_off.after_failure(headers)

    def _settle(self, results: list[_Result]) -> float:
        self._back_off.after_success()
        # Results are in the order of the request; an id alone may be one that the service could not read.
        self.outbox.settle(self._sent)
        for result in results:
            if result.status == "rejected":
                self._report(msgspec.to_builtins(result))
        return 0.0

    def _report(self, rejected: Mapping[str, Any]) -> None:
        if self.on_rejected is None:
            logger.warning(
                "event %s was rejected: %s (%s)", rejected["event_id"], rejected["message"], rejected["code"]
            )
            return
        try:
            self.on_rejected(rejected)
        except Exception:
            logger.exception("on_rejected failed")
