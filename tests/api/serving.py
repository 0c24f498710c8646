"""A service on a real port, for clients over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import uvicorn
from fastapi import FastAPI

from api.server.config import server_config
from pipeline.settings import Settings
from tests.waiting import wait_until


@contextmanager
def served(
    app: FastAPI,
    settings: Settings | None = None,
    *,
    port: int = 0,
    access_log: bool = False,
    **options: float,
) -> Iterator[httpx2.Client]:
    """Serve until the end, with options of uvicorn; yields a client whose base URL is the service's."""
    logs = {"log_config": None, "log_level": None, "access_log": access_log}
    server = uvicorn.Server(server_config(app, settings or Settings(), port=port, **logs, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        with httpx2.Client(base_url=f"http://{host}:{port}", timeout=30) as opened:
            yield opened
    finally:
        server.should_exit = True
        thread.join()
