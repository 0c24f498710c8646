"""Acknowledged events survive a kill at any moment."""

import http.client
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from engine.design import lifecycle
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests.builders import NOW, a_project, an_experiment
from tests.resilience.services import a_service
from tests.waiting import wait_until

SENDERS = 6


@dataclass
class Sent:
    """The requests of the senders, answered and not; each is the list of its event ids."""

    acknowledged: list[list[str]] = field(default_factory=list)
    unanswered: list[list[str]] = field(default_factory=list)


def an_exposure(event_id: str) -> dict[str, str]:
    return {
        "event_id": event_id,
        "type": "exposure",
        "visitor_id": f"visitor of {event_id}",
        "experiment_id": "exp_1",
        "variant_id": "var_0",
    }


def post(connection: http.client.HTTPConnection, batch: list[dict[str, str]]) -> int:
    headers = {"Content-Type": "application/json", "X-SDK-Key": "pk_shop"}
    connection.request("POST", "/api/v1/sdk/track", json.dumps({"batch": batch}), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def batches(name: str) -> Iterator[list[str]]:
    """Yield ids of events, one to two hundred at once, without end."""
    sizes = random.Random(name)  # noqa: S311 (moments, not secrets)
    for number in count():
        yield [f"{name}-{number}-{event}" for event in range(sizes.choice((1, 1, 1, 20, 200)))]


def send_until_killed(port: int, name: str, sent: Sent) -> None:
    """Post batches, one after another, until the server is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for ids in batches(name):
        try:
            status = post(connection, [an_exposure(event_id) for event_id in ids])
        except (OSError, http.client.HTTPException):
            sent.unanswered.append(ids)
            return
        assert status == 200
        sent.acknowledged.append(ids)


def live_until_killed(folder: Path, name: str, requests: int) -> Sent:
    """Kill a server while it is answering, once it has acknowledged that many requests."""
    sent = Sent()
    with a_service(folder / "store", folder / "log") as service:
        senders = [
            threading.Thread(target=send_until_killed, args=(service.port, f"{name}-{number}", sent))
            for number in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        wait_until(lambda: len(sent.acknowledged) >= requests)
        service.kill()
    for sender in senders:
        sender.join()
    return sent


def a_shop_in(data_dir: Path) -> str:
    """Create a running experiment in a new store; returns a key that reads its results."""
    with open_pipeline(Settings(data_dir=data_dir)) as pipeline:
        catalog = pipeline.catalog
        account, _, token = catalog.accounts.create("Acme", "owner@acme.example")
        catalog.projects.create(a_project(account_id=account.id), actor="test")
        catalog.experiments.create("prj_1", lambda _: an_experiment(), actor="test")
        catalog.experiments.change("prj_1", "exp_1", partial(lifecycle.start, now=NOW), actor="test")
    return token


def visitors_counted(port: int, token: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = "/api/v1/projects/prj_1/experiments/exp_1/results/summary"
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    summary = json.loads(connection.getresponse().read())["data"]
    connection.close()
    return sum(variant["visitors"] for variant in summary["variants"])


def send_again(port: int, event_ids: list[str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for start in range(0, len(event_ids), 500):
        assert post(connection, [an_exposure(event_id) for event_id in event_ids[start : start + 500]]) == 200
    connection.close()


def stored_in(data_dir: Path) -> dict[str, int]:
    """Count each event id in the store, and check that sequence numbers are unique."""
    # The next start loads what was acknowledged last.
    with open_pipeline(Settings(data_dir=data_dir)) as store, store.warehouse.cursor() as cursor:
        rows = cursor.execute("SELECT event_id, count(*) FROM events_prj_1 GROUP BY event_id").fetchall()
        repeated = cursor.execute("SELECT count(*) - count(DISTINCT seq) FROM events_prj_1").fetchall()
    assert repeated == [(0,)]
    return dict(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long(seconds=38))])
def test_every_acknowledged_event_is_there_once_after_kills(tmp_path: Path, kills: int) -> None:
    store = tmp_path / "store"
    token = a_shop_in(store)
    moments = random.Random(20)  # noqa: S311 (moments, not secrets)
    lives = [
        live_until_killed(tmp_path, f"life-{number}", moments.randint(0, 100)) for number in range(kills)
    ]
    stored = stored_in(store)
    acknowledged = [event_id for life in lives for ids in life.acknowledged for event_id in ids]
    assert len(acknowledged) > 50 * kills
    assert [stored.get(event_id) for event_id in acknowledged] == [1] * len(acknowledged)

    unanswered = [ids for life in lives for ids in life.unanswered]
    # A request is there whole or not at all.
    assert all(len({stored.get(event_id) for event_id in ids}) == 1 for ids in unanswered)

    # Senders try again what was not answered: stored twice at worst, and counted once.
    again = [event_id for ids in unanswered for event_id in ids]
    with a_service(store, tmp_path / "log") as service:
        send_again(service.port, again)
        # Beside the jobs of a start, a read tells what was published before.
        expected = len(acknowledged) + len(again)
        wait_until(lambda: visitors_counted(service.port, token) == expected)
