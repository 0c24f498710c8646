"""The service of a folder: found by its lock file, asked with the account's key for commands."""

import os
import signal
import socket
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest

from api.cli.client.running_service import ServiceClient, ServiceGoneError, ServiceRefusedError, find_service
from api.cli.console import CommandError
from api.cli.stores import new_project, opened_catalog, opened_store
from pipeline.settings import Settings
from pipeline.store.ownership.store_lock import find_owner, locked_store
from tests.api.cli.owners import owned_by_another_process
from tests.api.cli.services import served_by_another_process


def account_with_a_project(data_dir: Path) -> tuple[str, str]:
    with opened_store(data_dir) as store:
        account, _, _ = store.catalog.accounts.create("Shop", "a@shop.example")
        project = new_project(store.catalog, account.id, {"name": "Shop", "url": "https://shop.example"})
    return account.id, project.id


def client_of(data_dir: Path, account_id: str) -> ServiceClient:
    service = find_service(data_dir)
    assert service is not None
    with opened_catalog(data_dir) as catalog:
        return service.client(catalog, account_id)


@pytest.mark.parametrize(
    "options",
    [
        (),
        pytest.param(
            ("--host", "0.0.0.0"),  # noqa: S104 - on purpose
            marks=pytest.mark.long(seconds=4),
        ),
    ],
)
def test_a_command_asks_the_service_that_owns_its_folder(tmp_path: Path, options: tuple[str, ...]) -> None:
    account_id, project_id = account_with_a_project(tmp_path)
    with served_by_another_process(tmp_path, *options):
        client = client_of(tmp_path, account_id)
        listed = client.get("/api/v1/projects", {"page": 1, "per_page": None})
        assert [project["id"] for project in listed["data"]] == [project_id]
        with pytest.raises(ServiceRefusedError, match="refuses this: there is no project") as refused:
            client.get("/api/v1/projects/prj_other")
        assert (refused.value.status, refused.value.code) == (404, "not_found")
        with pytest.raises(ServiceRefusedError, match="name: is required"):
            client.post("/api/v1/projects", {"url": "https://shop.example"})
        new = {"name": "Other", "url": "https://other.example"}
        first, second = (client.post("/api/v1/projects", new, key="a key") for _ in range(2))
        assert first == second
        with pytest.raises(ServiceRefusedError) as too_large:
            client.post("/api/v1/projects", {"name": "x" * 20_000_000})
        assert too_large.value.status == 413


def test_a_service_that_ends_in_the_middle_is_named_in_a_sentence(tmp_path: Path) -> None:
    account_id, _ = account_with_a_project(tmp_path)
    with served_by_another_process(tmp_path) as service:
        client = client_of(tmp_path, account_id)
        os.kill(service.pid, signal.SIGSTOP)
        errors: list[Exception] = []

        def ask() -> None:
            try:
                client.get("/api/v1/projects")
            except ServiceGoneError as error:
                errors.append(error)

        asking = Thread(target=ask)
        asking.start()
        service.kill()
        service.wait()
        asking.join()
        assert "ended or does not answer" in str(errors[0])
    # Its lock file stays, and names no service any more.
    assert find_service(tmp_path) is None


def test_a_file_that_ends_early_is_no_answer(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        locked_store(Settings(data_dir=tmp_path)) as lock,
    ):
        port: int = listening.getsockname()[1]
        lock.note_address(f"http://127.0.0.1:{port}")
        service = find_service(tmp_path)
        assert service is not None

        def answer_half() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

        answering = Thread(target=answer_half)
        answering.start()
        with pytest.raises(ServiceGoneError, match="ended or does not answer"):
            ServiceClient(service, "token").download("/rows", {}, BytesIO())
        answering.join()


def test_a_store_that_no_service_owns_is_not_served(tmp_path: Path) -> None:
    assert find_service(tmp_path) is None
    with owned_by_another_process(tmp_path):
        assert find_owner(Settings(data_dir=tmp_path)) is not None
        assert find_service(tmp_path) is None


def test_a_service_on_another_machine_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked_store(Settings(data_dir=tmp_path)) as lock:
        lock.note_address("http://127.0.0.1:8000")
        monkeypatch.setattr("socket.gethostname", lambda: "another")
        with pytest.raises(CommandError, match="run the command on"):
            find_service(tmp_path)
