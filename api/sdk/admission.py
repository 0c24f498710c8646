"""Admission of SDK requests: rate limit, quotas, exposures that count, and storage."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from api.bodies.slices import Turns
from api.sdk.snippet_verification import SnippetVerification
from engine.design.assignment import Exclusion
from pipeline.assignment.project_cache import CachedProject, ProjectCache
from pipeline.events.address_keys import AddressKey
from pipeline.events.decode import DecodedEvents
from pipeline.events.request_headers.location import Locations
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog

if TYPE_CHECKING:
    from api.services import Services


class Admission(Protocol):
    """Limits on one request and the storage of its events, in the order of the calls.

    The limits are those of the process that owns the store.
    """

    async def count_request(self, cached: CachedProject) -> None:
        """Count the request to a project, not to its account; ApiError `rate_limited`."""

    async def count_without_project(self, account_id: str) -> None:
        """Count a server's request that is refused before its project is known; ApiError `rate_limited`."""

    def require_room(self, address_key: int | None) -> None:
        """Require that no quota of the project's browsers or the address is used up; ApiError."""

    def count_bytes(self, number: int) -> None:
        """Count the bytes of a browser's body; ApiError `rate_limited` where they are too many."""

    def count_events(self, number: int) -> None:
        """Count the events of a browser's body; ApiError `rate_limited` where they are too many."""

    async def confirm(self, size: int | None) -> None:
        """Wait until what is counted so far is decided, before work on a body of `size` bytes; ApiError."""

    async def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark those of the exposures `found` by `find_excluded` that do not count."""

    async def store(self, events: DecodedEvents, size: int) -> None:
        """Return once the events, of `size` bytes in memory, are on disk; raises as `Ingest.submit`."""


class SdkServices(Protocol):
    """Services that a request with events needs."""

    @property
    def settings(self) -> Settings:
        """Limits of browsers."""

    @property
    def catalog(self) -> Catalog:
        """Accounts and keys."""

    @property
    def project_cache(self) -> ProjectCache:
        """Projects with their experiments."""

    @property
    def address_key(self) -> AddressKey:
        """Hashes of network addresses."""

    @property
    def locations(self) -> Locations:
        """Locations of visitors."""

    @property
    def snippet_verification(self) -> SnippetVerification:
        """Projects whose pages have called."""

    @property
    def turns(self) -> Turns:
        """Turns of long work."""

    def admission(self, request: Request) -> Admission:
        """Begin the admission of a request."""


@dataclass(slots=True)
class OwnAdmission:
    """Admission in the process that owns the store, where each call takes effect at once."""

    services: "Services"
    request: Request
    _project_id: str = field(default="", init=False)
    _address_key: int | None = field(default=None, init=False)

    async def count_request(self, cached: CachedProject) -> None:
        """Count the request; ApiError `rate_limited`."""
        self._project_id = cached.project.id
        await self._count(self._project_id)

    async def count_without_project(self, account_id: str) -> None:
        """Count the request apart from those of projects; ApiError `rate_limited`."""
        await self._count(account_id)

    async def _count(self, subject: str) -> None:
        services = self.services
        limit = services.settings.sdk_rate_limit_per_minute
        count = partial(services.limits.count, f"sdk/{subject}", limit)
        # Counting in memory takes less time than handing it to a worker thread.
        window = count() if services.limits.is_local else await run_in_threadpool(count)
        self.request.state.window = window
        window.require_room()

    def require_room(self, address_key: int | None) -> None:
        """Require that no quota is used up; ApiError `rate_limited`."""
        self._address_key = address_key
        self.services.quotas.require_room(self._project_id, address_key)

    def count_bytes(self, number: int) -> None:
        """Count bytes; ApiError `rate_limited`."""
        self.services.quotas.count_bytes(self._project_id, self._address_key, number)

    def count_events(self, number: int) -> None:
        """Count events; ApiError `rate_limited`."""
        self.services.quotas.count_events(self._project_id, self._address_key, number)

    async def confirm(self, size: int | None) -> None:
        """Return at once: everything is decided when it is counted."""

    async def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark exposures that do not count, in a worker thread, since it reads the catalog."""
        mark = self.services.exposure_filter.mark_not_counted
        return await run_in_threadpool(mark, events, found, cached)

    async def store(self, events: DecodedEvents, size: int) -> None:
        """Return once the events are on disk."""
        await self.services.ingest.submit(self._project_id, events.rows, size)
