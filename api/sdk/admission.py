"""Admission of SDK requests: rate limit, quotas, exposures that count, and storage."""

from functools import partial
from typing import NamedTuple, Protocol

import msgspec
from fastapi import Request

from api.bodies.slices import Turns
from api.middleware.key_refusals import KeyRefusals
from api.middleware.rate_limits import RateLimits
from api.off_loop import in_thread
from api.sdk.debug_tokens import DebugTokens
from api.sdk.encoded_bodies import EncodedBodies
from api.sdk.quotas import BrowserQuotas
from api.sdk.snippet_verification import SnippetVerification
from engine.design.assignment import Exclusion
from pipeline.assignment.exposure_filter import ExposureFilter
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import CachedProject, ProjectCache
from pipeline.assignment.visits import StoredVisits
from pipeline.events.address_keys import AddressKey
from pipeline.events.decode import DecodedEvents
from pipeline.events.request_headers.location import Locations
from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog


class Browser(NamedTuple):
    """A browser whose events and bytes count: its project, and the keyed hash of its network address."""

    project_id: str
    address_key: int | None


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
    def key_refusals(self) -> KeyRefusals:
        """Notes of refused keys."""

    @property
    def locations(self) -> Locations:
        """Locations of visitors."""

    @property
    def snippet_verification(self) -> SnippetVerification:
        """Projects whose pages have called."""

    @property
    def turns(self) -> Turns:
        """Turns of long work."""

    def admission(self, request: Request) -> "Admission":
        """Begin the admission of a request."""


class VisitServices(SdkServices, Protocol):
    """Services that decisions on visitors and the snippet need."""

    @property
    def encoded_bodies(self) -> EncodedBodies:
        """Compressed answers."""

    @property
    def debug_tokens(self) -> DebugTokens:
        """Tokens of people who look at a page."""

    @property
    def first_assignments(self) -> FirstAssignments:
        """Variants of known visitors."""

    @property
    def stored_visits(self) -> StoredVisits:
        """Visits that are stored already."""

    @property
    def quotas(self) -> BrowserQuotas:
        """Events and bytes of browsers."""

    @property
    def ingest(self) -> Ingest:
        """Storage of events."""


class Admission(msgspec.Struct, frozen=True):
    """Limits on one request, and the storage of its events; each call takes effect at once."""

    request: Request
    requests_per_minute: int
    limits: RateLimits
    quotas: BrowserQuotas
    exposure_filter: ExposureFilter
    ingest: Ingest

    async def count_request(self, subject: str) -> None:
        """Count the request to the project of that id; ApiError `rate_limited`.

        A server's request that is refused before its project is known counts to its account.
        """
        count = partial(self.limits.count, f"sdk/{subject}", self.requests_per_minute)
        # Counting in memory takes less time than handing it to a worker thread.
        window = count() if self.limits.is_local else await in_thread(count)
        self.request.scope["state"]["window"] = window
        window.require_room()

    def require_room(self, browser: Browser) -> None:
        """Require that no quota is used up; ApiError `rate_limited`."""
        self.quotas.require_room(*browser)

    def count_bytes(self, browser: Browser, number: int) -> None:
        """Count bytes; ApiError `rate_limited`."""
        self.quotas.count_bytes(*browser, number)

    def count_events(self, browser: Browser, number: int) -> None:
        """Count events; ApiError `rate_limited`."""
        self.quotas.count_events(*browser, number)

    async def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark exposures that do not count, in a worker thread, since it reads the catalog."""
        return await in_thread(self.exposure_filter.mark_not_counted, events, found, cached)

    async def store(self, project_id: str, events: DecodedEvents, size: int) -> None:
        """Return once the events are on disk."""
        await self.ingest.submit(project_id, events.rows, size)
