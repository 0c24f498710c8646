"""An endpoint of a webhook, on this machine: what it received, and what it answers."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOPBACK = "127.0.0.0/8"


@dataclass(frozen=True, slots=True)
class Received:
    """A request that the endpoint received; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Endpoint:
    """Answers with `status`, once `answers` is set, and leads to `location` if there is one."""

    url: str
    status: int = 204
    location: str | None = None
    received: list[Received] = field(default_factory=list)
    answers: threading.Event = field(default_factory=threading.Event)


@contextmanager
def an_endpoint(context: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    """Serve an endpoint until the end of the block; over TLS with a context."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            endpoint.received.append(Received(self.path, headers, body))
            endpoint.answers.wait()
            self.send_response(endpoint.status)
            if endpoint.location:
                self.send_header("Location", endpoint.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if context else "http"
    endpoint = Endpoint(f"{scheme}://127.0.0.1:{server.server_port}/hooks")
    endpoint.answers.set()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.answers.set()
        server.shutdown()
        server.server_close()
        thread.join()
