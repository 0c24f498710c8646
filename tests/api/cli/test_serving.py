"""The service as a command: it serves until it is interrupted."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from api.app import create_app
from api.cli.serving import locked_for_service, run_service
from api.cli.stores import settings_for
from pipeline.settings import Settings
from tests.api.cli.conftest import Run
from tests.forked import start_command
from tests.waiting import wait_until

SERVE = "import sys; from api.cli.app import main; sys.argv[0] = 'truelift'; main()"


def test_openapi_prints_the_description(run: Run) -> None:
    document = json.loads(run("openapi").out)
    assert document == json.loads(json.dumps(create_app(Settings()).openapi()))


def status_of(url: str) -> int | None:
    """The status of the answer; None while the service takes no connections."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return int(answer.status)
    except urllib.error.URLError:
        return None


# Says when the program is left out of garbage collections.
WATCH = """
import gc, threading
def watch():
    while not gc.get_freeze_count():
        threading.Event().wait(0.01)
    print("left out", flush=True)
threading.Thread(target=watch, daemon=True).start()
"""


@pytest.mark.slow
@pytest.mark.long(seconds=6)
@pytest.mark.usefixtures("account")
def test_serve_leaves_the_program_out_of_garbage_collections_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WATCH + SERVE, "serve", "--data-dir", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert any(line == "left out\n" for line in server.stdout)
        server.send_signal(signal.SIGINT)
        errors = server.communicate(timeout=60)[1]
    # Otherwise extension modules report what is left out at the end as leaked.
    assert "leaked" not in errors


@pytest.mark.slow
@pytest.mark.usefixtures("account")
def test_serve_answers_until_it_is_interrupted(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    log = tmp_path / "log"
    command = ("serve", "--data-dir", str(tmp_path), "--port", str(port), "--collectors", "2")
    ignored = {"TRUELIFT_COLLECTORS": "2", "TRUELIFT_TOKEN": "tl_secret"}
    server = start_command(*command, log=log, environment={**os.environ, **ignored})
    try:
        assert wait_until(lambda: status_of(f"http://127.0.0.1:{port}/healthz")) == 200
        server.send_signal(signal.SIGINT)
        assert server.wait() in {0, 130}
    finally:
        server.kill()
    printed = log.read_text()
    assert f"Ignored, as they are no settings: {', '.join(ignored)}\n" in printed
    assert "--collectors is gone and ignored: " in printed
    assert "tl_secret" not in printed


# As in a container.
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("host", "set_to"),
    [("127.0.0.1", None), (EVERY_ADDRESS, None), (EVERY_ADDRESS, "https://ab.example")],
)
def test_the_base_url_is_the_address_listened_on_unless_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, set_to: str | None
) -> None:
    if set_to is not None:
        monkeypatch.setenv("TRUELIFT_BASE_URL", set_to)
    served: list[Settings] = []

    def create(settings: Settings, *_: object) -> None:
        served.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("api.app.create_app", create)
    # The service logs to the error stream of this test, which later tests must not log to.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    settings = settings_for(tmp_path)
    with locked_for_service(settings, host, 0) as (lock, sockets):
        listening = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        with pytest.raises(KeyboardInterrupt):
            run_service(settings, lock, sockets, announce=print)
    assert [one.base_url for one in served] == [set_to or listening]
