"""Checks with a time limit, each in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

logger = logging.getLogger(__name__)


class TimedChecks:
    """Runner of checks that may hang: those asked for while one still runs share its result."""

    def __init__(self) -> None:
        """Start without a running check."""
        self._starting = threading.Lock()
        self._running: dict[str, Future[None]] = {}

    async def passes(self, name: str, check: Callable[[], None], seconds: float) -> bool:
        """Run a check; False where it raises, which is logged, or has not ended in time."""
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._run(name, check))), seconds)
        except TimeoutError:
            message, told = "the %s does not answer within %g seconds", {"outage": name}
            logger.error(message, name, seconds, extra=told)  # noqa: TRY400 (said in one line)
            return False
        except Exception:
            # Whatever the failure, the check has not passed.
            logger.exception("the %s cannot be read", name)
            return False
        return True

    def _run(self, name: str, check: Callable[[], None]) -> "Future[None]":
        """Start the check unless it is running; a daemon thread, since a hanging one never ends."""
        with self._starting:
            running = self._running.get(name)
            if running is None or running.done():
                running = self._running[name] = Future()
                threading.Thread(target=_resolve, args=(running, check), name=name, daemon=True).start()
            return running


def _resolve(future: "Future[None]", check: Callable[[], None]) -> None:
    try:
        check()
    except BaseException as error:  # noqa: BLE001 (raised where the result is awaited)
        future.set_exception(error)
    else:
        future.set_result(None)
