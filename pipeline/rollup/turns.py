"""Turns of runs: one at a time, and refreshes that reads of results wait for, but not behind long runs."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final

from pipeline.disk_space import DiskFullError
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError

logger = logging.getLogger(__name__)

# A run that takes no longer delays the refreshes that reads wait for, and makes no read older.
SHORT_SECONDS: Final = 0.25


class Turns:
    """Turns of the runs of a process; thread-safe."""

    def __init__(self, refresh: Callable[[str], object]) -> None:
        """`refresh` brings the results of a project up to date, in a turn of its own."""
        self._refresh = refresh
        self._running = threading.Lock()
        # Done once a run holds up others for so long that no read waits for it.
        self._held_up = Future[None]()
        self._queueing = threading.Lock()
        self._queued: dict[str, Future[None]] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="rollup")

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for the current run to end, and start no other inside the block."""
        with self._running:
            yield

    @contextmanager
    def take_long(self) -> Iterator[None]:
        """Do as `take`, for what may take long: no read waits for it then."""
        with self._running:
            timer = threading.Timer(SHORT_SECONDS, self._held_up.set_result, [None])
            timer.start()
            try:
                yield
            finally:
                timer.cancel()
                self._held_up = Future()

    def refresh_within(self, project_id: str, seconds: float) -> bool:
        """Refresh, waiting at most `seconds`; False where it takes longer, continuing alone, or fails.

        Nor does a call wait behind a rebuild, an erasure, or another run that takes long. Calls that come
        before a queued run has begun share that run.
        """
        with self._queueing:
            run = self._queued.get(project_id)
            if run is None:
                run = self._queued[project_id] = self._worker.submit(self._refresh_queued, project_id)
        awaited: tuple[Future[Any], ...] = (run, self._held_up)
        wait(awaited, timeout=seconds, return_when=FIRST_COMPLETED)
        try:
            run.result(timeout=0)
        except (TimeoutError, NotFoundError):
            return False
        except (DiskFullError, WarehouseUnavailableError) as error:
            logger.warning("results of project %s are not brought up to date: %s", project_id, error)
            return False
        except Exception:
            logger.exception("results of project %s could not be brought up to date", project_id)
            return False
        return True

    def close(self) -> None:
        """Wait for the current run to end, and start no other."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _refresh_queued(self, project_id: str) -> None:
        with self._running:
            # From here on this run may miss new events, so later calls queue the next one.
            with self._queueing:
                del self._queued[project_id]
            self._refresh(project_id)
