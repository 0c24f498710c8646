"""Collectors that are killed or hang, and kills of their owner, lose nothing that was acknowledged."""

import http.client
import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tests.api.collectors.served_collectors import COLLECTORS, collectors_of, kill_and_wait
from tests.resilience.services import a_service
from tests.resilience.test_kill import SENDERS, Sent, a_shop_in, an_exposure, batches, post, stored_in
from tests.waiting import wait_until


def send_until(is_over: threading.Event, port: int, name: str, sent: Sent) -> None:
    """Post batches, and others on a new connection where one is not answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for ids in batches(name):
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


def run_with_kills(data_dir: Path, log: Path, name: str, kills: int, rng: random.Random) -> Sent:
    """Kill or stop collectors while they answer, once they have acknowledged more; at last kill the owner."""
    sent, is_over = Sent(), threading.Event()
    with a_service(data_dir, log, collectors=COLLECTORS) as service:
        # A collector that is killed before all have started ends the service.
        wait_until(lambda: "Serving on" in log.read_text())
        senders = [
            threading.Thread(target=send_until, args=(is_over, service.port, f"{name}-{number}", sent))
            for number in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        try:
            for number in range(kills):
                _wait_for_more(sent, rng.randint(1, 60))
                how = signal.SIGKILL if number % 3 else signal.SIGSTOP
                kill_and_wait(service, rng.choice(collectors_of(service)), with_signal=how)
            _wait_for_more(sent, rng.randint(1, 60))
        finally:
            os.kill(service.process.pid, signal.SIGKILL)
            is_over.set()
            for sender in senders:
                sender.join()
    return sent


def _wait_for_more(sent: Sent, requests: int) -> None:
    enough = len(sent.acknowledged) + requests
    wait_until(lambda: len(sent.acknowledged) >= enough)


def assert_nothing_lost(folder: Path, runs: int, kills: int, *, seed: int) -> None:
    a_shop_in(folder / "store")
    rng = random.Random(seed)  # noqa: S311 (moments, not secrets)
    sent = [
        run_with_kills(folder / "store", folder / f"log-{number}", f"run-{number}", kills, rng)
        for number in range(runs)
    ]
    stored = stored_in(folder / "store")
    acknowledged = [event_id for run in sent for ids in run.acknowledged for event_id in ids]
    assert acknowledged
    assert [stored.get(event_id) for event_id in acknowledged] == [1] * len(acknowledged)
    # A request is there whole or not at all, and once.
    unanswered = [ids for run in sent for ids in run.unanswered]
    assert unanswered
    assert all({stored.get(event_id) for event_id in ids} in ({1}, {None}) for ids in unanswered)


@pytest.mark.slow
@pytest.mark.long(seconds=85)
def test_nothing_is_lost_or_doubled_by_collectors_that_are_killed_or_hang(tmp_path: Path) -> None:
    assert_nothing_lost(tmp_path, runs=3, kills=9, seed=3)
