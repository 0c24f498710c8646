"""Admission of SDK requests in a collector, decided by the owner of the store."""

import logging
from dataclasses import dataclass, field
from typing import Final

from fastapi import Request

from api.collectors.messages import EventCall, ExposureCall, Refusal
from api.collectors.owner_link import OwnerLink
from api.errors import UNEXPECTED, ApiError
from api.middleware.rate_limits import Window
from api.sdk.admission import Browser
from engine.design.assignment import Exclusion
from pipeline.assignment.exposure_filter import marked
from pipeline.assignment.project_cache import CachedProject
from pipeline.events.decode import DecodedEvents
from pipeline.ingest.errors import NotStoredError
from pipeline.ingest.spooled_events import encode_rows

# Work on a smaller body takes no longer than a question to the owner, so that all of it is one question.
SMALL_BYTES: Final = 2**13

logger = logging.getLogger(__name__)


class StaleProjectError(Exception):
    """The project was changed since the collector read it; nothing of the request is counted."""


class OwnerError(Exception):
    """The owner met an error that it did not expect, and has logged it; the client gets 500."""


@dataclass(slots=True)
class RemoteAdmission:
    """Admission that collects what a request is charged with, and asks for it in as few calls as possible.

    A refusal is raised before any error that the request meets later: `settle` is called for it.
    """

    owner: OwnerLink
    request: Request
    # Of the catalog when the request began; what is read from then on is at least as new.
    _version: int = field(init=False)
    _pending: EventCall | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._version = self.owner.version

    async def count_request(self, subject: str) -> None:
        """Note the request, and the version of the catalog by which its project was read."""
        self._charged(subject).version = self._version

    def require_room(self, browser: Browser) -> None:
        """Note that quotas apply."""
        self._charged(*browser).checks_room = True

    def count_bytes(self, browser: Browser, number: int) -> None:
        """Note the bytes."""
        self._charged(*browser).byte_count = number

    def count_events(self, browser: Browser, number: int) -> None:
        """Note the events."""
        self._charged(*browser).event_count = number

    async def confirm(self, size: int | None) -> None:
        """Ask for what is noted, unless the work on the body is small; ApiError, StaleProjectError."""
        if size is None or size > SMALL_BYTES:
            await self.settle()

    async def settle(self) -> None:
        """Ask for what is noted; ApiError where it is refused, and StaleProjectError."""
        call, self._pending = self._pending, None
        if call is None:
            return
        answer = await self.owner.ask_events(call)
        if answer.stale_at is not None:
            self.owner.version = answer.stale_at
            raise StaleProjectError
        if answer.window is not None:
            self.request.state.window = Window(*answer.window)
        _raise(answer.refusal)

    async def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark exposures that do not count, as the owner knows first assignments."""
        await self.settle()
        places = list(found)
        exposures = bytes(encode_rows([events.rows[place] for place in places]))
        answer = await self.owner.ask_exposures(ExposureCall(0, cached.project.id, exposures))
        _raise(answer.refusal)
        excluded = {places[number]: Exclusion(*given) for number, given in answer.excluded.items()}
        return marked(events, excluded)

    async def store(self, project_id: str, events: DecodedEvents, size: int) -> None:
        """Return once the events are on disk, and everything noted is counted."""
        if events.rows:
            call = self._charged(project_id)
            try:
                call.rows, call.size = bytes(encode_rows(events.rows)), size
            except Exception:
                logger.exception("events of project %s were not stored", project_id)
                message = "the events could not be written; send them again in a moment"
                raise NotStoredError(message) from None
        await self.settle()

    def _charged(self, project_id: str, address_key: int | None = None) -> EventCall:
        if self._pending is None:
            self._pending = EventCall(0, project_id)
        if address_key is not None:
            self._pending.address_key = address_key
        return self._pending


def _raise(refusal: Refusal | None) -> None:
    if refusal is None:
        return
    if refusal.code == UNEXPECTED.code:
        # Logged with the request id that the client is told to quote.
        raise OwnerError
    raise ApiError(refusal.code, refusal.message, headers=refusal.headers)
