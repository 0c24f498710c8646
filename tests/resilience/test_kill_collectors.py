"""Kills of collectors and of their owner lose no acknowledged event and double none."""

import http.client
import os
import random
import signal
import threading
from itertools import count
from pathlib import Path

import psutil
import pytest

from tests.resilience.services import Service, a_service
from tests.resilience.test_kill import SENDERS, Sent, a_shop_in, an_exposure, post, stored_in
from tests.waiting import wait_until

COLLECTORS = 2


def send_until(is_over: threading.Event, port: int, name: str, sent: Sent) -> None:
    """Post batches, and others on a new connection where one is not answered."""
    sizes = random.Random(name)  # noqa: S311 (moments, not secrets)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in count():
        ids = [f"{name}-{number}-{event}" for event in range(sizes.choice((1, 1, 1, 20, 200)))]
        if is_over.is_set():
            break
        try:
            status = post(connection, [an_exposure(event_id) for event_id in ids])
        except (OSError, http.client.HTTPException):
            sent.unanswered.append(ids)
            connection.close()
        else:
            assert status == 200
            sent.acknowledged.append(ids)
    connection.close()


def kill_one(service: Service, moments: random.Random) -> None:
    """Kill one of the collectors, and wait until all run again."""
    collector = moments.choice(psutil.Process(service.process.pid).children())
    collector.kill()
    wait_until(lambda: not collector.is_running() or collector.status() == psutil.STATUS_ZOMBIE)
    wait_until(lambda: len(psutil.Process(service.process.pid).children()) == COLLECTORS)


def live(data_dir: Path, log: Path, name: str, kills: int, moments: random.Random) -> Sent:
    """Kill collectors while they answer, once they have acknowledged more, and their owner at last."""
    sent, is_over = Sent(), threading.Event()
    with a_service(data_dir, log, collectors=COLLECTORS) as service:
        senders = [
            threading.Thread(target=send_until, args=(is_over, service.port, f"{name}-{number}", sent))
            for number in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        for _ in range(kills):
            _wait_for_more(sent, moments.randint(1, 60))
            kill_one(service, moments)
        _wait_for_more(sent, moments.randint(1, 60))
        os.kill(service.process.pid, signal.SIGKILL)
        is_over.set()
        for sender in senders:
            sender.join()
    return sent


def _wait_for_more(sent: Sent, requests: int) -> None:
    enough = len(sent.acknowledged) + requests
    wait_until(lambda: len(sent.acknowledged) >= enough)


def survive(folder: Path, lives: int, kills: int, *, seed: int) -> None:
    a_shop_in(folder / "store")
    moments = random.Random(seed)  # noqa: S311 (moments, not secrets)
    lived = [
        live(folder / "store", folder / "log", f"life-{number}", kills, moments) for number in range(lives)
    ]
    stored = stored_in(folder / "store")
    acknowledged = [event_id for life in lived for ids in life.acknowledged for event_id in ids]
    assert acknowledged
    assert [stored.get(event_id) for event_id in acknowledged] == [1] * len(acknowledged)
    # A request is there whole or not at all, and once.
    unanswered = [ids for life in lived for ids in life.unanswered]
    assert unanswered
    assert all({stored.get(event_id) for event_id in ids} in ({1}, {None}) for ids in unanswered)


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_by_some_kills_of_collectors(tmp_path: Path) -> None:
    survive(tmp_path, lives=2, kills=3, seed=2)


@pytest.mark.slow
@pytest.mark.long
def test_nothing_is_lost_or_doubled_by_sixty_kills_of_collectors(tmp_path: Path) -> None:
    survive(tmp_path, lives=6, kills=9, seed=60)
