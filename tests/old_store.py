"""The store that version 0.1 wrote: unpacked, served, and asked."""

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import httpx2
from fastapi.testclient import TestClient

from api import deps
from api.app import create_app
from api.cli.app import main
from pipeline.settings import Settings
from tests.stored_answers import FOLDER

ARCHIVE: Final = FOLDER / "store.tar.gz"
FACTS: Final = FOLDER / "facts.json"
TABLE: Final = FOLDER / "visitors.csv"
# The time of every request.
NOW: Final = datetime(2026, 3, 15, 15, 0, tzinfo=UTC)


@cache
def facts() -> dict[str, Any]:
    """The ids in the store and the key that opens it."""
    found: dict[str, Any] = json.loads(FACTS.read_text())
    return found


def unpack(folder: Path) -> Path:
    """Write a copy of the store into `folder`; returns its data folder."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder / "store", filter="data")
    return folder / "store"


@contextmanager
def served(data_dir: Path) -> Iterator[TestClient]:
    """The service on the store, in this process, with every request made at `NOW`."""
    # Results wait for a recount however long it takes on a busy machine.
    settings = Settings(data_dir=data_dir, catalog_url=None, fresh_read_seconds=60, snapshot_seconds=0)
    with mock.patch.object(deps, "utc_now", return_value=NOW), TestClient(create_app(settings)) as client:
        yield client


def ask(client: TestClient, method: str, path: str, **arguments: Any) -> httpx2.Response:
    """Send a request with the key of the store's account; `path` is relative to /api/v1."""
    headers = {"Authorization": f"Bearer {facts()['token']}", **arguments.pop("headers", {})}
    return client.request(method, f"/api/v1{path}", headers=headers, **arguments)


def truelift(*arguments: str | Path) -> str:
    """Run a command in this process; returns its standard output. SystemExit where it fails."""
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", ["truelift", *map(str, arguments)]), redirect_stdout(printed):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    return printed.getvalue()
