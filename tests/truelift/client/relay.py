"""A proxy before a service, which counts requests and fails when it is told to."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx2


class Relay:
    """A proxy before the service that answers with a failure as long as `status` says one."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.status: int | None = None
        self.requests: Counter[str] = Counter()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                relay.pass_on(self)

            def do_POST(self) -> None:
                relay.pass_on(self)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        content = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.requests[handler.command] += 1
        # Such as `init`.
        self.requests[urlsplit(handler.path).path.rpartition("/")[2]] += 1
        names = ("Authorization", "Content-Type", "If-None-Match")
        headers = {name: handler.headers[name] for name in names if name in handler.headers}
        if self.status is None:
            answer = httpx2.request(
                handler.command, f"{self.target}{handler.path}", content=content, headers=headers, timeout=60
            )
            status, body, tag = answer.status_code, answer.content, answer.headers.get("etag")
        else:
            status, body, tag = self.status, b"", None
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Retry-After", "0")
        if tag is not None:
            handler.send_header("ETag", tag)
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def relayed(url: str) -> Iterator[Relay]:
    relay = Relay(url)
    thread = threading.Thread(target=relay.server.serve_forever)
    thread.start()
    yield relay
    relay.server.shutdown()
    thread.join()
    relay.server.server_close()
