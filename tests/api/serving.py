"""A service on a real port, so that others speak HTTP to it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import uvicorn
from fastapi import FastAPI


@contextmanager
def served(app: FastAPI, *, access_log: bool = False) -> Iterator[httpx2.Client]:
    """Serve until the end; yields a client whose base URL is the service's."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=access_log, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    with httpx2.Client(base_url=f"http://{host}:{port}", timeout=30) as opened:
        yield opened
    server.should_exit = True
    thread.join()
