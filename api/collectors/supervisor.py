"""Supervision of collectors by the owner of the store: started, started again, and stopped."""

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from starlette.types import ASGIApp

from api.collectors.event_calls import EventCalls
from api.collectors.forwarded_requests import ForwardedRequests
from api.collectors.heartbeat import Heartbeat
from api.collectors.link import Link
from api.collectors.messages import (
    BodyPart,
    ClientLeft,
    EventCall,
    ExposureCall,
    Message,
    PartSent,
    Pong,
    Ready,
    RequestHead,
)
from api.server.config import GRACEFUL_SECONDS
from api.services import Services

# The pause before a start again, doubled after each start that failed.
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0
# A collector that has not ended by then is killed.
STOP_SECONDS: Final = GRACEFUL_SECONDS + 5.0

logger = logging.getLogger(__name__)


class CollectorError(Exception):
    """A collector cannot be started."""


class CollectorLink:
    """The owner's end of the link to one collector."""

    def __init__(self, app: ASGIApp, services: Services, tasks: set[asyncio.Task[None]]) -> None:
        """Answer the calls of the collector, and the requests that it passes on by `app`."""
        self.ready = asyncio.Event()
        self.lost = asyncio.Event()
        self.link = Link(self._receive, self._lose)
        self.heartbeat = Heartbeat(self.link.send)
        self._calls = EventCalls(services, tasks, self.link.send)
        self._requests = ForwardedRequests(app, tasks, self.link.send)

    def _receive(self, message: Message) -> None:
        if isinstance(message, EventCall):
            self._calls.answer_events(message)
        elif isinstance(message, BodyPart | ClientLeft | PartSent):
            self._requests.take(message)
        elif isinstance(message, RequestHead):
            self._requests.begin(message)
        elif isinstance(message, ExposureCall):
            self._calls.answer_exposures(message)
        elif isinstance(message, Pong):
            self.heartbeat.note_answer()
        elif isinstance(message, Ready):
            self.ready.set()

    def _lose(self) -> None:
        self._requests.leave()
        self.lost.set()


class Supervisor:
    """The collectors of an owner, one for each group of listening sockets."""

    def __init__(
        self,
        groups: Sequence[Sequence[socket.socket]],
        services: Services,
        app: ASGIApp,
        tasks: set[asyncio.Task[None]],
    ) -> None:
        """Work for the collectors in `tasks`, which the server waits for at its end."""
        self._groups = groups
        self._services = services
        self._app = app
        self._tasks = tasks
        self._stopping = asyncio.Event()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._supervising: list[asyncio.Task[None]] = []

    @property
    def process_ids(self) -> list[int]:
        """Process ids of the collectors that run."""
        return [process.pid for process in self._processes.values()]

    async def start(self) -> None:
        """Return once every collector takes connections; CollectorError where one cannot be started."""
        loop = asyncio.get_running_loop()
        ready = [loop.create_future() for _ in self._groups]
        self._supervising = [
            loop.create_task(self._run_repeatedly(number, first)) for number, first in enumerate(ready)
        ]
        await asyncio.gather(*ready)

    async def stop(self) -> None:
        """Let the collectors end their requests, and wait for their processes."""
        self._stopping.set()
        for process in self._processes.values():
            process.terminate()
        if self._supervising:
            _, late = await asyncio.wait(self._supervising, timeout=STOP_SECONDS)
            for process in self._processes.values():
                process.kill()
            if late:
                await asyncio.wait(late)

    async def _run_repeatedly(self, number: int, first: "asyncio.Future[None]") -> None:
        """Run one collector after another, the `first` of which is told when it is ready."""
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            end, was_ready = await self._run_to_its_end(number, first)
            if not first.done():
                first.set_exception(CollectorError(f"a collector {end} at its start"))
                return
            if self._stopping.is_set():
                return
            pause = FIRST_PAUSE_SECONDS if was_ready else min(2 * pause, LONGEST_PAUSE_SECONDS)
            logger.error("collector %d %s, and is started again in %g s", number, end, pause)
            await _wait_at_most(pause, self._stopping)

    async def _run_to_its_end(self, number: int, first: "asyncio.Future[None]") -> tuple[str, bool]:
        """Run a collector; return the end of it in words, and whether it was ready."""
        try:
            status, was_ready = await self._run(number, first)
        # The system is out of memory, processes or files, or has no thread left.
        except (OSError, RuntimeError) as error:
            return f"could not be run ({error})", False
        return f"ended with status {status}", was_ready

    async def _run(self, number: int, first: "asyncio.Future[None]") -> tuple[int, bool]:
        """Run a collector; return its exit status, and whether it was ready."""
        collector = CollectorLink(self._app, self._services, self._tasks)
        process = await self._started(number, collector)
        self._processes[number] = process
        if self._stopping.is_set():
            process.terminate()
        telling = asyncio.create_task(_tell_ready(collector, first))
        watching = asyncio.create_task(_kill_if_hung(number, collector, process))
        await collector.lost.wait()
        telling.cancel()
        watching.cancel()
        status = await asyncio.to_thread(_wait_for, process)
        del self._processes[number]
        return status, collector.ready.is_set()

    async def _started(self, number: int, collector: CollectorLink) -> "subprocess.Popen[bytes]":
        """Start a process, linked to the owner; OSError, RuntimeError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                await asyncio.get_running_loop().create_unix_connection(lambda: collector.link, sock=ours)
                return await asyncio.to_thread(self._start, number, theirs)
            except BaseException:
                collector.link.close()
                ours.close()
                raise

    def _start(self, number: int, link_socket: socket.socket) -> "subprocess.Popen[bytes]":
        listening = [bound.fileno() for bound in self._groups[number]]
        arguments = [self._services.settings.data_dir, len(self._groups), link_socket.fileno(), *listening]
        # Without the working directory in its search path, and without the signals of the terminal.
        command = [sys.executable, "-P", "-m", "api.collectors.collector_process", *map(str, arguments)]
        return subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, pass_fds=(link_socket.fileno(), *listening), process_group=0
        )


async def _tell_ready(collector: CollectorLink, first: "asyncio.Future[None]") -> None:
    await collector.ready.wait()
    if not first.done():
        first.set_result(None)


async def _kill_if_hung(number: int, collector: CollectorLink, process: "subprocess.Popen[bytes]") -> None:
    # One that ends its requests, while the service stops, answers between them, too.
    await collector.ready.wait()
    await collector.heartbeat.wait_until_missed()
    logger.error("collector %d hangs, and is killed", number)
    process.kill()


async def _wait_at_most(seconds: float, event: asyncio.Event) -> None:
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait([waiting], timeout=seconds)
    waiting.cancel()


def _wait_for(process: "subprocess.Popen[bytes]") -> int:
    """Return the exit status of a collector that has closed its link, killed where it does not end."""
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
