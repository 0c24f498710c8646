"""Configuration of the HTTP server."""

from functools import partial
from typing import Any, Final, cast

import uvicorn
from fastapi import FastAPI

from api.server.connections import Connections
from api.server.open_files import most_connections, raise_file_limit
from api.server.protocol import IDLE_SECONDS, BoundedProtocol
from pipeline.settings import Settings

GRACEFUL_SECONDS: Final = 10


def server_config(app: FastAPI, settings: Settings, **options: Any) -> uvicorn.Config:  # noqa: ANN401 - uvicorn's
    """Configure uvicorn to serve an app, with `options` of its own such as `port`.

    The limit of open files is raised for the whole process.
    """
    connections = Connections(
        limit=most_connections(settings.max_connections, raise_file_limit()),
        per_address=settings.connections_per_address,
        trusted=settings.trusted_networks,
    )
    direct = app.state.direct_events if isinstance(app, FastAPI) else None
    protocol = partial(BoundedProtocol, open_connections=connections, direct=direct)
    defaults = {
        "http": cast("type[BoundedProtocol]", protocol),
        "timeout_keep_alive": IDLE_SECONDS,
        "timeout_graceful_shutdown": GRACEFUL_SECONDS,
        # The log lines of the service are those of its whole process.
        "log_config": None,
        "access_log": False,
        "server_header": False,
        # The application knows its trusted proxies.
        "proxy_headers": False,
        # Nothing here uses WebSockets, and their library would log paths before a key is removed from them.
        "ws": "none",
    }
    return uvicorn.Config(app, **{**defaults, **options})
