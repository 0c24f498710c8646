"""Calls of collectors, answered by the owner of the store: limits, exposures that count, and storage."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial

from starlette.concurrency import run_in_threadpool

from api.collectors.messages import EventAnswer, EventCall, ExposureAnswer, ExposureCall, Message, Refusal
from api.errors import ANSWERED, UNEXPECTED, api_error
from api.middleware.rate_limits import Window
from api.services import Services
from pipeline.ingest.spooled_events import EncodedRows, decode_rows

logger = logging.getLogger(__name__)


class EventCalls:
    """The calls of one collector, each answered by one message."""

    def __init__(
        self, services: Services, tasks: set[asyncio.Task[None]], send: Callable[[Message], None]
    ) -> None:
        """Answer by `send`; what waits for threads is a task of `tasks`."""
        self._services = services
        self._tasks = tasks
        self._send = send

    def answer_events(self, call: EventCall) -> None:
        """Charge the project and the address with a request, and store its events."""
        if call.version is None:
            self._charge_and_store(call, None)
            return
        services, version = self._services, self._services.catalog.database.version
        if call.version != version:
            self._send(EventAnswer(call.exchange_id, stale_at=version))
            return
        limit = services.settings.sdk_rate_limit_per_minute
        count = partial(services.limits.count, f"sdk/{call.project_id}", limit)
        if services.limits.is_local:
            self._charge_and_store(call, count())
        else:
            self._begin(self._count_shared(call, count))

    def answer_exposures(self, call: ExposureCall) -> None:
        """Say which exposures do not count."""
        self._begin(self._filter(call))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _count_shared(self, call: EventCall, count: Callable[[], Window]) -> None:
        try:
            window = await run_in_threadpool(count)
        except Exception as error:  # noqa: BLE001 - the collector is told
            self._refuse(EventAnswer(call.exchange_id), error)
            return
        self._charge_and_store(call, window)

    def _charge_and_store(self, call: EventCall, window: Window | None) -> None:
        answer = EventAnswer(call.exchange_id)
        if window is not None:
            answer.window = (window.limit, window.used, window.reset_seconds, window.is_exceeded)
        try:
            if window is not None:
                window.require_room()
            self._charge(call)
            if call.rows is not None:
                encoded = EncodedRows(call.rows)
                tell = partial(self._tell_stored, answer)
                self._services.ingest.put(call.project_id, decode_rows(encoded), call.size, tell, encoded)
        except Exception as error:  # noqa: BLE001 - the collector is told
            self._refuse(answer, error)
            return
        if call.rows is None:
            self._send(answer)

    def _charge(self, call: EventCall) -> None:
        """Count against the quotas of browsers; ApiError `rate_limited`."""
        quotas = self._services.quotas
        if call.checks_room:
            quotas.require_room(call.project_id, call.address_key)
        if call.byte_count is not None:
            quotas.count_bytes(call.project_id, call.address_key, call.byte_count)
        if call.event_count is not None:
            quotas.count_events(call.project_id, call.address_key, call.event_count)

    def _tell_stored(self, answer: EventAnswer, error: Exception | None) -> None:
        if error is None:
            self._send(answer)
        else:
            self._refuse(answer, error)

    async def _filter(self, call: ExposureCall) -> None:
        answer = ExposureAnswer(call.exchange_id, {})
        services = self._services
        try:
            cached = await run_in_threadpool(services.project_cache.with_id, call.project_id)
            exposures = dict(enumerate(decode_rows(EncodedRows(call.rows))))
            excluded = await run_in_threadpool(services.exposure_filter.excluded, exposures, cached)
        except Exception as error:  # noqa: BLE001 - the collector is told
            self._refuse(answer, error)
            return
        answer.excluded = {place: (exclusion.code, exclusion.reason) for place, exclusion in excluded.items()}
        self._send(answer)

    def _refuse(self, answer: EventAnswer | ExposureAnswer, error: BaseException) -> None:
        refused = UNEXPECTED
        if isinstance(error, ANSWERED):
            refused = api_error(error)
        else:
            logger.error("a call of a collector failed", exc_info=error)
        answer.refusal = Refusal(refused.code, refused.message, refused.headers)
        self._send(answer)
