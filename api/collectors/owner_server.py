"""Server of the owner of the store, whose collectors take the connections."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Final

import uvicorn

from api.collectors.supervisor import CollectorError, Supervisor
from api.services import Services

# How often a signal is looked for, as in uvicorn's main loop.
_SIGNAL_SECONDS: Final = 0.1


class OwnerServer(uvicorn.Server):
    """Server without connections of its own."""

    def __init__(
        self,
        config: uvicorn.Config,
        services: Services,
        groups: Sequence[Sequence[socket.socket]],
        announce: Callable[[], None],
        fail: Callable[[CollectorError], None],
    ) -> None:
        """Start a collector for each group of listening sockets; `announce` is called once all are ready.

        Where one cannot be started, `fail` is called, and the server ends.
        """
        super().__init__(config)
        self._groups = groups
        self._fail = fail
        self._announce = announce
        self._services = services
        self._supervisor: Supervisor | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - collectors have them
        """Start the application and the collectors."""
        await super().startup(sockets=[])
        app, tasks = self.config.loaded_app, self.server_state.tasks
        self._supervisor = Supervisor(self._groups, self._services, app, tasks)
        starting = asyncio.create_task(self._supervisor.start())
        # A signal ends the start, too.
        while not self.should_exit and not starting.done():
            await asyncio.wait([starting], timeout=_SIGNAL_SECONDS)
        if not starting.done():
            starting.cancel()
        elif isinstance(error := starting.exception(), CollectorError):
            self._fail(error)
            self.should_exit = True
        else:
            starting.result()
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - collectors have them
        """Take no more connections, let the collectors end their requests, and stop the application."""
        for bound in (bound for group in self._groups for bound in group):
            bound.close()
        if self._supervisor is not None:
            await self._supervisor.stop()
        await super().shutdown(sockets=[])
