"""Mistakes of users are lines in the log of a service, and never tracebacks."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.resilience.services import Service, a_service
from tests.resilience.test_kill import a_shop_in
from tests.waiting import wait_until

COLUMNS = urlencode({"visitor": "id", "variant": "page", "control": "A", "goals": "bought"})
IMPORTS = "/api/v1/projects/prj_1/imports"


def send(service: Service, token: str, path: str, kind: str, body: bytes) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", path, body, {"Authorization": f"Bearer {token}", "Content-Type": kind})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def break_off(service: Service, token: str, path: str) -> None:
    """Announce a body, send a part of it and leave."""
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: text/csv\r\n"
        )
        connection.sendall(f"{head}Content-Length: 1000\r\n\r\nid,page".encode())


@pytest.mark.slow
def test_what_users_do_wrong_is_no_traceback(tmp_path: Path) -> None:
    token = a_shop_in(tmp_path / "store")
    log = tmp_path / "log"
    with a_service(tmp_path / "store", log) as service:
        refused = []
        for content in (b"id,page\nv1,A\n", b"id,page,bought\nv1,A,1\nv2,B", b"\xff\x00"):
            status, answer = send(service, token, f"{IMPORTS}?{COLUMNS}", "text/csv", content)
            assert status == 202, answer
            refused.append(answer["data"]["id"])
        for path, kind, body in (
            (IMPORTS, "application/json", b"{"),
            (IMPORTS, "application/json", b'{"source": "none"}'),
            (IMPORTS, "text/plain", b"x"),
            ("/api/v1/projects/prj_1/experiments", "application/json", b'{"name": 3}'),
            ("/api/v1/projects/prj_1/experiments/exp_1/start", "application/json", b"{}"),
            ("/api/v1/projects/prj_1/runs", "application/json", b'{"kind": "dance"}'),
            ("/api/v1/sdk/track", "application/json", b'{"batch": [{"type": "none"}]}'),
        ):
            status, _ = send(service, token, path, kind, body)
            assert 400 <= status < 500, path
        break_off(service, token, f"{IMPORTS}?{COLUMNS}")
        break_off(service, token, "/api/v1/sdk/track")
        told = [f"run {run} (import) failed: " for run in refused]
        wait_until(lambda: all(one in log.read_text() for one in told))
    lines = log.read_text().splitlines()
    assert len([line for line in lines if "failed" in line]) == len(refused)
    assert not any("Traceback" in line for line in lines)
    assert [line for line in lines if not line.startswith(("20", "Serving on"))] == []
