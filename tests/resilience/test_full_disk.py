"""Full disks: nothing acknowledged is lost, refusals say when to try again, and the service recovers."""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.design import lifecycle
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests.builders import NOW, a_project, an_experiment
from tests.resilience.services import Answer, Service, a_service
from tests.resilience.small_disk import MEBIBYTE, SmallDisk, a_small_disk
from tests.waiting import wait_until

EXPERIMENT = "/api/v1/projects/prj_1/experiments/exp_1"
MIN_FREE = 8 * MEBIBYTE
# Small, so that the service checkpoints every few batches; the default is never reached here.
WITH_CHECKPOINTS = {"checkpoint_log_bytes": 2 * MEBIBYTE}
EVENTS_A_BATCH = 200


class Shop:
    """A running experiment on a small disk, and the visitors sent to it."""

    def __init__(self, disk: SmallDisk, data_dir: Path, token: str) -> None:
        self.disk = disk
        self.data_dir = data_dir
        self.key = {"Authorization": f"Bearer {token}"}
        self.acknowledged: set[str] = set()
        self.sent: set[str] = set()
        self._numbers = count()
        self._random = random.Random(64)  # noqa: S311 (content of events)

    def send(self, service: Service) -> Answer:
        """Send exposures of new visitors, a thousand bytes each."""
        visitors = [f"visitor-{next(self._numbers)}" for _ in range(EVENTS_A_BATCH)]
        self.sent.update(visitors)
        answer = service.request(
            "POST", "/api/v1/sdk/track", {"batch": [*map(self._exposure, visitors)]}, {"X-SDK-Key": "pk_shop"}
        )
        if answer.status == 200:
            assert answer.data["accepted"] == EVENTS_A_BATCH
            self.acknowledged.update(visitors)
        return answer

    def send_until_refused(self, service: Service) -> Answer:
        while (answer := self.send(service)).status == 200:
            pass
        return answer

    def stored(self, service: Service) -> list[str]:
        """Read the visitors counted in the experiment."""
        answer = service.request("GET", f"{EXPERIMENT}/results/export?format=ndjson", headers=self.key)
        assert answer.status == 200
        return [json.loads(line)["visitor_id"] for line in answer.body.splitlines()]

    def files(self) -> list[Path]:
        """List the files of the store."""
        return [path for path in (self.disk.folder / "store").iterdir() if path.is_file()]

    def create_project(self, service: Service, name: str) -> Answer:
        body = {"name": name, "url": "https://x.example"}
        headers = {**self.key, "Idempotency-Key": name}
        return service.request("POST", "/api/v1/projects", body, headers)

    def _exposure(self, visitor: str) -> dict[str, Any]:
        return {
            "event_id": f"seen by {visitor}",
            "type": "exposure",
            "visitor_id": visitor,
            "experiment_id": "exp_1",
            "variant_id": "var_0",
            "url": f"https://shop.example/{self._random.randbytes(500).hex()}",
        }


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A shop on a disk of 96 MiB, of which 40 are free."""
    (tmp_path / "disk").mkdir()
    with a_small_disk(tmp_path / "disk", 96 * MEBIBYTE) as disk:
        token = make_shop(tmp_path / "made")
        shutil.copytree(tmp_path / "made", disk.folder / "store")
        disk.fill(but=40 * MEBIBYTE)
        yield Shop(disk, tmp_path / "disk" / "store", token)


def make_shop(data_dir: Path) -> str:
    """Create a running experiment in a new store; returns a key of the account."""
    with open_pipeline(Settings(data_dir=data_dir)) as services:
        catalog = services.catalog
        account, _, token = catalog.accounts.create("Acme", "owner@acme.example", "scale")
        catalog.accounts.update(account.id, max_projects=10**6, rate_limit=10**6)
        catalog.projects.create(a_project(account_id=account.id), actor="test")
        catalog.experiments.create("prj_1", lambda _: an_experiment(), actor="test")
        catalog.experiments.change("prj_1", "exp_1", partial(lifecycle.start, now=NOW), actor="test")
    return token


def assert_to_be_tried_again(answer: Answer) -> None:
    assert answer.status == 503
    assert answer.data["error"]["code"] == "unavailable"
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "checkpoints",
    [
        pytest.param({}, id="without"),
        pytest.param(WITH_CHECKPOINTS, id="with", marks=pytest.mark.long(seconds=15)),
    ],
)
def test_a_full_disk_loses_nothing_acknowledged_and_is_recovered_from(
    shop: Shop, tmp_path: Path, checkpoints: dict[str, int]
) -> None:
    settings: dict[str, Any] = {"min_free_disk_bytes": MIN_FREE, **checkpoints}
    if not checkpoints:
        # It is full sooner; checkpoints need room beside the log.
        shop.disk.fill(but=24 * MEBIBYTE)
    projects: dict[str, int] = {}
    with a_service(shop.data_dir, tmp_path / "log", shop.disk.enter, **settings) as service:
        assert_to_be_tried_again(shop.send_until_refused(service))
        assert len(shop.acknowledged) > 1000
        assert shop.disk.free > MIN_FREE / 2
        # Others fill what the service leaves.
        shop.disk.fill()
        assert_to_be_tried_again(shop.send(service))
        exports = []

        def is_export_refused() -> bool:
            """Fill the disk and ask: a file of the spool whose events are loaded makes room meanwhile."""
            shop.disk.fill()
            path = f"{EXPERIMENT}/results/export?format=csv"
            exports.append(service.request("GET", path, headers=shop.key))
            return exports[-1].status == 503

        wait_until(is_export_refused)
        assert_to_be_tried_again(exports[-1])
        for number in range(300):
            shop.disk.fill()
            answer = shop.create_project(service, f"full-{number}")
            projects[f"full-{number}"] = answer.status
            if answer.status != 201:
                break
        assert_to_be_tried_again(answer)
        for part in ("", "/summary", "/timeseries", "/segments"):
            assert service.status(f"{EXPERIMENT}/results{part}", shop.key) == 200
        assert service.status("/healthz") == 200

        shop.disk.clear()
        wait_until(lambda: shop.send(service).status == 200)
        for _ in range(10):
            assert shop.send(service).status == 200
        wait_until(lambda: shop.create_project(service, "afterwards").status == 201)
        assert service.status("/readyz") == 200
    # What is on the disk is read elsewhere, by a service that starts sooner.
    copied = Path(shutil.copytree(shop.disk.folder / "store", tmp_path / "copied"))
    with a_service(copied, tmp_path / "log", **settings, fresh_read_seconds=60) as service:
        stored = shop.stored(service)
        listed = service.request("GET", "/api/v1/projects?per_page=100", headers=shop.key).data["data"]
    assert len(stored) == len(set(stored))
    assert shop.acknowledged <= set(stored) <= shop.sent
    created = {name for name, status in projects.items() if status == 201}
    assert {one["name"] for one in listed} - {"Shop"} == created | {"afterwards"}
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.slow
@pytest.mark.long(seconds=22)
def test_a_checkpoint_that_fails_is_recovered_from_without_a_restart(shop: Shop, tmp_path: Path) -> None:
    settings = {"min_free_disk_bytes": MIN_FREE, **WITH_CHECKPOINTS}
    log = tmp_path / "log"
    # Room for checkpoints beside the spool.
    shop.disk.clear()
    with a_service(shop.data_dir, log, shop.disk.enter, **settings) as service:
        for _ in range(40):
            assert shop.send(service).status == 200
    with a_service(shop.data_dir, log, shop.disk.enter, **settings) as service:
        # The disk has space, but files may not grow: no check beforehand sees that.
        limit_files(service, max(path.stat().st_size for path in shop.files()))

        def loses_the_warehouse() -> bool:
            """Send events, and read: a read waits for the loader, so that the spool does not grow first."""
            assert shop.send(service).status == 200
            service.status(f"{EXPERIMENT}/results/summary", shop.key)
            return "the warehouse is lost" in log.read_text()

        # At one of the next checkpoints.
        assert any(loses_the_warehouse() for _ in range(100))
        assert shop.send(service).status == 200
        assert_to_be_tried_again(shop.send_until_refused(service))
        limit_files(service, None)
        wait_until(lambda: shop.send(service).status == 200)
        assert service.status("/healthz") == 200
        for _ in range(20):
            assert shop.send(service).status == 200
    with a_service(shop.data_dir, log, shop.disk.enter, **settings, fresh_read_seconds=60) as service:
        stored = shop.stored(service)
    assert len(stored) == len(set(stored))
    assert shop.acknowledged <= set(stored) <= shop.sent


def limit_files(service: Service, size: int | None) -> None:
    """Limit the size of the files that the service writes, as a quota does."""
    limit = "unlimited" if size is None else str(size)
    subprocess.run(["prlimit", "--pid", str(service.process.pid), f"--fsize={limit}:unlimited"], check=True)
