"""Two collectors of a service decide as one process, and live and end with it."""

import asyncio
import http.client
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import psutil
import pytest

from api.app import create_app
from api.cli.listening import bound_sockets
from api.collectors import heartbeat
from api.collectors import supervisor as supervisor_module
from api.collectors.supervisor import CollectorError, Supervisor
from api.services import open_services
from pipeline.clock import utc_now
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from tests.api.collectors.served_collectors import (
    COLLECTORS,
    Answer,
    a_store_in,
    an_exposure,
    collectors_of,
    connections_to_each,
    kill_and_wait,
    send,
    track,
)
from tests.resilience.services import Service, a_service
from tests.waiting import PATIENCE_SECONDS, wait_until, wait_until_async

pytestmark = pytest.mark.slow
Connections = list[http.client.HTTPConnection]
REQUESTS = 30
EVENTS = 5
VISITOR = "203.0.113.7"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def token(data_dir: Path) -> str:
    return a_store_in(data_dir)


@pytest.fixture(scope="module")
def service(data_dir: Path, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    log = tmp_path_factory.mktemp("log") / "log"
    with a_service(
        data_dir,
        log,
        collectors=COLLECTORS,
        sdk_rate_limit_per_minute=REQUESTS,
        # Results wait for the count as long as a busy machine takes for it.
        fresh_read_seconds=60,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def own_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose minutes have not begun, and whose processes may be killed, at last its owner."""
    folder = tmp_path_factory.mktemp("own")
    a_store_in(folder / "store")
    with a_service(
        folder / "store", folder / "log", collectors=COLLECTORS, address_events_per_minute=EVENTS
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def connections(service: Service) -> Iterator[Connections]:
    with connections_to_each(service) as opened:
        yield opened


@pytest.mark.long(seconds=5)
def test_a_rate_limit_holds_over_all_collectors(connections: Connections) -> None:
    answers = [
        track(connection, "limited", an_exposure("limited", f"limited {number}"))
        for number, connection in enumerate(islice(cycle(connections), REQUESTS + 4))
    ]
    assert [answer.status for answer in answers] == [200] * REQUESTS + [429] * 4
    left = [int(answer.headers["ratelimit-remaining"]) for answer in answers]
    assert left == [*reversed(range(REQUESTS)), 0, 0, 0, 0]


def test_the_quota_of_an_address_holds_over_all_collectors(own_service: Service) -> None:
    with connections_to_each(own_service) as connections:
        answers = [
            track(connection, "quota", an_exposure("quota", f"q{number}"), x_forwarded_for=VISITOR)
            for number, connection in enumerate(islice(cycle(connections), EVENTS + 4))
        ]
    assert [answer.status for answer in answers] == [200] * EVENTS + [429] * 4
    assert "from your network address" in answers[-1].data["error"]["message"]


def test_a_revoked_key_is_refused_at_once_by_every_collector(
    connections: Connections, data_dir: Path
) -> None:
    catalog = Catalog.open(Settings(data_dir=data_dir))
    try:
        (account,) = catalog.accounts.all()
        member = catalog.members.accepted(account.id)[0]
        key, secret = catalog.keys.create(account.id, member.id, "Server", ("sdk:write",))
        by = {"authorization": f"Bearer {secret}"}
        event = an_exposure("quota", "of a server")
        assert [track(one, "quota", event, **by).status for one in connections] == [200] * COLLECTORS
        catalog.keys.revoke(account.id, key.id, now=utc_now())
        assert [track(one, "quota", event, **by).status for one in connections] == [401] * COLLECTORS
    finally:
        catalog.close()


def test_the_snippet_is_the_same_from_every_collector(connections: Connections) -> None:
    answers = []
    for method, connection in ((method, one) for method in ("GET", "HEAD") for one in connections):
        connection.request(method, "/sdk/v1/pk_quota.js", headers={"Accept-Encoding": "br"})
        answer = connection.getresponse()
        told = {name: answer.getheader(name) for name in ("ETag", "Content-Encoding", "Content-Length")}
        answers.append((answer.status, told, answer.read()))
    (status, headers, body), *others = answers
    assert (status, headers["Content-Encoding"], headers["Content-Length"]) == (200, "br", str(len(body)))
    assert others == [*[(200, headers, body)] * (COLLECTORS - 1), *[(200, headers, b"")] * COLLECTORS]


def test_the_first_exposure_decides_whichever_collectors_took_them(connections: Connections) -> None:
    first, second = connections
    for number in range(3):
        shown = [
            track(one, "shop", an_exposure("shop", f"{number} {place}", visitor=f"v{number}", variant=place))
            for place, one in enumerate((first, second))
        ]
        assert [answer.status for answer in shown] == [200, 200]
        visits = [
            send(one, "POST", "/api/v1/sdk/init", {"visitor_id": f"v{number}"}, x_sdk_key="pk_shop")
            for one in (second, first)
        ]
        assigned = [visit.data["assignments"][0]["variant_id"] for visit in visits]
        assert assigned == ["var_0", "var_0"]


def test_a_change_takes_effect_at_once_in_every_collector(connections: Connections, token: str) -> None:
    first, second = connections
    by = {"authorization": f"Bearer {token}"}
    design = {
        "name": "New",
        "variants": [{"name": "Control", "is_control": True}, {"name": "Treatment"}],
        "goals": [{"name": "Order", "goal_type": "revenue", "is_primary": True, "config": {}}],
    }
    made = send(first, "POST", "/api/v1/projects/prj_shop/experiments", design, **by).data["data"]
    event = {
        **an_exposure("shop", "new"),
        "experiment_id": made["id"],
        "variant_id": made["variants"][0]["id"],
    }
    assert track(second, "shop", event).data["accepted"] == 1


def test_results_are_the_same_through_every_collector(connections: Connections, token: str) -> None:
    assert track(connections[0], "shop", an_exposure("shop", "read", visitor="of results")).status == 200
    path = "/api/v1/projects/prj_shop/experiments/exp_shop/results/summary"

    def read(tag: str | None = None) -> list[Answer]:
        headers = {"authorization": f"Bearer {token}", **({"if_none_match": tag} if tag else {})}
        return [send(one, "GET", path, **headers) for one in connections]

    def are_the_same() -> bool:
        """Read through each twice; a refresh between two reads changes them for all."""
        answers = read()
        assert [answer.status for answer in answers] == [200] * COLLECTORS
        assert sum(variant["visitors"] for variant in answers[0].data["data"]["variants"]) > 0
        again = read(answers[0].headers["etag"])
        alike = [answer.data for answer in answers] == [answers[0].data] * COLLECTORS
        return alike and [answer.status for answer in again] == [304] * COLLECTORS

    wait_until(are_the_same)


def test_a_collector_that_is_killed_is_started_again(own_service: Service) -> None:
    kill_and_wait(own_service, collectors_of(own_service)[0])
    with connections_to_each(own_service) as connections:
        answers = [
            track(connection, "shop", an_exposure("shop", f"again {number}")).status
            for number, connection in enumerate(connections)
        ]
    assert answers == [200] * COLLECTORS


def test_a_killed_owner_leaves_no_collector_and_a_free_port(own_service: Service) -> None:
    collectors = collectors_of(own_service)
    assert len(collectors) == COLLECTORS
    own_service.process.kill()
    psutil.wait_procs(collectors, timeout=60)
    assert not any(collector.is_running() for collector in collectors)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", own_service.port))


@pytest.mark.long(seconds=5)
def test_a_stopped_service_ends_its_collectors(tmp_path: Path) -> None:
    a_store_in(tmp_path / "store")
    with a_service(tmp_path / "store", tmp_path / "log", collectors=COLLECTORS) as service:
        collectors = collectors_of(service)
        assert len(collectors) == COLLECTORS
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
        assert not any(collector.is_running() for collector in collectors)
    assert "ERROR" not in (tmp_path / "log").read_text()


@contextmanager
def a_supervisor(data_dir: Path) -> Iterator[Supervisor]:
    """A supervisor of one collector, in this process."""
    settings = Settings(data_dir=data_dir)
    with open_services(settings) as services, bound_sockets("127.0.0.1", 0) as sockets:
        yield Supervisor([sockets], services, create_app(settings), set())


@pytest.mark.parametrize(
    ("program", "end"),
    [("/no/such/program", "could not be run"), (shutil.which("false"), "ended with status 1")],
)
def test_a_collector_that_fails_at_its_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, end: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with a_supervisor(tmp_path) as supervisor, pytest.raises(CollectorError, match=end):
        asyncio.run(asyncio.wait_for(supervisor.start(), PATIENCE_SECONDS))


def test_a_collector_that_the_system_cannot_start_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(supervisor: Supervisor) -> None:
        await supervisor.start()
        killed = supervisor.process_ids
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", "/no/such/program")
            os.kill(killed[0], signal.SIGKILL)
            await wait_until_async(lambda: "could not be run" in caplog.text)
        await wait_until_async(lambda: supervisor.process_ids not in ([], killed))
        await supervisor.stop()

    with a_supervisor(tmp_path) as supervisor:
        asyncio.run(run(supervisor))


def test_a_service_that_stops_does_not_wait_for_a_collector_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Otherwise it would be killed in the end, and the test would be as long.
    monkeypatch.setattr(supervisor_module, "STOP_SECONDS", 10 * PATIENCE_SECONDS)
    monkeypatch.setattr(heartbeat, "PING_SECONDS", 0.2)

    async def run(supervisor: Supervisor) -> None:
        await supervisor.start()
        os.kill(supervisor.process_ids[0], signal.SIGSTOP)
        await asyncio.wait_for(supervisor.stop(), PATIENCE_SECONDS)

    with a_supervisor(tmp_path) as supervisor:
        asyncio.run(run(supervisor))
    assert "collector 0 hangs, and is killed" in caplog.text


@pytest.mark.long(seconds=5)
def test_a_collector_that_hangs_is_killed_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(heartbeat, "PING_SECONDS", 0.2)

    async def run(supervisor: Supervisor) -> None:
        await supervisor.start()
        hung = supervisor.process_ids
        os.kill(hung[0], signal.SIGSTOP)
        await wait_until_async(lambda: supervisor.process_ids not in ([], hung))
        await supervisor.stop()

    with a_supervisor(tmp_path) as supervisor:
        asyncio.run(run(supervisor))
    assert "collector 0 hangs, and is killed" in caplog.text
