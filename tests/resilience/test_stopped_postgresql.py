"""A PostgreSQL server that is stopped is answered with 503 in time, and is used again once it continues."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

import pytest

from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from tests import postgresql
from tests.resilience.services import Answer, Service, a_service
from tests.waiting import wait_until


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """A server of its own, since it is stopped."""
    try:
        with postgresql.served() as folder:
            yield Path(folder)
    except postgresql.MissingServerError:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")


@contextmanager
def stopped(server: int) -> Iterator[None]:
    """Stop a server with all of its sessions, as a machine does that swaps or whose disk hangs."""
    processes = [server, *children_of(server)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def children_of(parent: int) -> list[int]:
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [number for number in numbers if parent_of(number) == parent]


def parent_of(process: int) -> int:
    try:
        # The name, in brackets, may contain spaces.
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.long(seconds=12)
@pytest.mark.slow
def test_a_stopped_server_is_answered_in_time_and_used_again(socket_folder: Path, tmp_path: Path) -> None:
    url = postgresql.new_database(str(socket_folder))
    catalog = Catalog.open(Settings(data_dir=tmp_path, catalog_url=url))
    _, _, token = catalog.accounts.create("Acme", "owner@acme.example")
    catalog.close()
    (running,) = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT") or gettempdir()).glob(
        f"{socket_folder.name}*/postmaster.pid"
    )
    server = int(running.read_text().split()[0])
    with a_service(tmp_path / "store", tmp_path / "log", catalog_url=url) as service:
        assert projects(service, token).status == 200
        with stopped(server):
            refused = projects(service, token)
            assert (refused.status, refused.data["error"]["code"]) == (503, "unavailable")
            assert int(refused.headers["retry-after"]) > 0
            assert service.status("/readyz") == 503
            assert service.status("/healthz") == 200
            # Jobs fail, and probes ask, all the time.
            assert [service.status("/readyz") for _ in range(5)] == [503] * 5
        lines = (tmp_path / "log").read_text().splitlines()
        assert sum("the catalog does not answer" in line for line in lines) in {1, 2}
        assert len(lines) <= 4, lines
        wait_until(lambda: projects(service, token).status == 200)
        wait_until(lambda: service.status("/readyz") == 200)


def projects(service: Service, token: str) -> Answer:
    return service.request("GET", "/api/v1/projects", headers={"Authorization": f"Bearer {token}"})
