"""Quotas of browsers: events and bytes a minute of each project and each network address."""

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from api.errors import ApiError
from api.middleware.address_counts import AddressCounts
from pipeline.settings import Settings

WINDOW_SECONDS: Final = 60


class BrowserQuotas:
    """Fixed windows of a minute, each begun by its first request; for use in one event loop.

    What goes beyond a quota is refused whole, but for the first in a window: a batch that is larger than
    a whole quota would never get through otherwise.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the limits of the settings."""
        self._clock = clock
        self._limits = {
            "events": (settings.browser_events_per_minute, settings.address_events_per_minute),
            "bytes": (settings.browser_bytes_per_minute, settings.address_bytes_per_minute),
        }
        self._ends_at = -math.inf
        self._of_projects: dict[str, Counter[str]] = {}
        self._of_addresses: dict[str, AddressCounts] = {}

    def require_room(self, project_id: str, address_key: int | None) -> None:
        """Require that neither quota is used up; ApiError `rate_limited`."""
        self._renew_window()
        for unit in self._limits:
            self._require(unit, project_id, address_key, 1)

    def count_events(self, project_id: str, address_key: int | None, number: int) -> None:
        """Count the events of a request; ApiError `rate_limited` where they are too many."""
        self._count("events", project_id, address_key, number)

    def count_bytes(self, project_id: str, address_key: int | None, number: int) -> None:
        """Count the bytes of a body; ApiError `rate_limited` where they are too many."""
        self._count("bytes", project_id, address_key, number)

    def _count(self, unit: str, project_id: str, address_key: int | None, number: int) -> None:
        self._renew_window()
        self._require(unit, project_id, address_key, number)
        self._of_projects[unit][project_id] += number
        if address_key is not None:
            self._of_addresses[unit].add(address_key, number)

    def _require(self, unit: str, project_id: str, address_key: int | None, number: int) -> None:
        for_project, for_address = self._limits[unit]
        used = self._of_projects[unit][project_id]
        if used and used + number > for_project:
            raise self._refusal(f"{for_project:,} {unit} of the project")
        if address_key is not None:
            used = self._of_addresses[unit].get(address_key)
            if used and used + number > for_address:
                raise self._refusal(f"{for_address:,} {unit} from your network address")

    def _renew_window(self) -> None:
        """Begin a window where the last one is over."""
        now = self._clock()
        if now >= self._ends_at:
            self._ends_at = now + WINDOW_SECONDS
            self._of_projects = {unit: Counter() for unit in self._limits}
            self._of_addresses = {unit: AddressCounts() for unit in self._limits}

    def _refusal(self, what: str) -> ApiError:
        seconds = str(math.ceil(self._ends_at - self._clock()))
        return ApiError(
            "rate_limited",
            f"at most {what} are taken from browsers a minute; send these again in {seconds} s",
            headers={"Retry-After": seconds},
        )
