"""Process of a collector: started by the owner of the store, and ended with it."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any, Final

import uvicorn

from api.collectors.collector_app import CollectorApp, collector_services
from api.collectors.owner_link import OwnerLink
from api.logs import set_up_logging
from api.server.config import server_config
from api.server.garbage_collection import rare_collections
from pipeline.events.user_agent import compile_patterns
from pipeline.settings import Settings, read_settings
from pipeline.store.catalog.catalog import Catalog

# The exit status of a collector without an owner.
NO_OWNER_STATUS: Final = 3
# To the catalog, of which a collector reads keys and projects, and marks snippets as verified; a server of
# it has a limit for all.
CATALOG_CONNECTIONS: Final = 8


class CollectorServer(uvicorn.Server):
    """Server that takes connections while it is linked to the owner."""

    def __init__(self, config: uvicorn.Config, owner: OwnerLink, link_socket: socket.socket) -> None:
        """Link to the owner by one end of a pair of sockets."""
        super().__init__(config)
        self._owner = owner
        self._link_socket = link_socket

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Link to the owner, take connections and tell the owner."""
        await self._owner.connect(self._link_socket)
        await super().startup(sockets)
        self._owner.tell_ready()
        # Compiled for the first visitor otherwise, who would wait for it.
        asyncio.get_running_loop().run_in_executor(None, compile_patterns)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all requests, and then the link."""
        await super().shutdown(sockets)
        self._owner.close()


def serve_collector(settings: Settings, link_socket: socket.socket, sockets: list[socket.socket]) -> None:
    """Serve on listening sockets until SIGTERM, or until the owner at the other end is gone."""
    owner = OwnerLink(_exit_at_once)
    services = collector_services(settings, Catalog.open(settings, connections=CATALOG_CONNECTIONS), owner)
    app: Any = CollectorApp(services)
    server = CollectorServer(server_config(app, settings, lifespan="off"), owner, link_socket)
    with rare_collections():
        server.run(sockets)


def settings_of_collector(settings: Settings, collectors: int) -> Settings:
    """Return the settings of one of several collectors, among which connections are divided."""
    return settings.model_copy(
        update={
            "max_connections": -(-settings.max_connections // collectors),
            "connections_per_address": -(-settings.connections_per_address // collectors),
        }
    )


def _exit_at_once() -> None:
    # Nothing can be acknowledged without the owner, and its port is to be free.
    os._exit(NO_OWNER_STATUS)


def main() -> None:
    """Run the collector of the arguments: data folder, number of collectors, and open sockets."""
    data_dir, collectors, link_socket, *listening = sys.argv[1:]
    set_up_logging()
    settings = settings_of_collector(read_settings(data_dir=Path(data_dir)), int(collectors))
    sockets = [socket.socket(fileno=int(number)) for number in listening]
    serve_collector(settings, socket.socket(fileno=int(link_socket)), sockets)


if __name__ == "__main__":
    main()
