"""A PostgreSQL server that is stopped gives errors in time, and works again afterwards."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from pipeline.settings import Settings
from pipeline.store import postgresql
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogBusyError

pytestmark = pytest.mark.only_on("postgresql")


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Stop a process of the server, as a machine does that swaps or whose disk hangs."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def session_of(catalog: Catalog) -> int:
    with catalog.database.read() as connection:
        return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


@pytest.fixture
def catalog(tmp_path_factory: pytest.TempPathFactory, tmp_path: object) -> Iterator[Catalog]:
    assert tmp_path
    opened = Catalog.open(Settings(data_dir=tmp_path_factory.mktemp("store")))
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql.LimitedConnection, "answer_seconds", 0.5)
    monkeypatch.setattr(postgresql, "PING_SECONDS", 0.5)


def test_a_session_that_stops_in_a_transaction_is_given_up(catalog: Catalog) -> None:
    process = session_of(catalog)
    with pytest.raises(CatalogBusyError):
        ask_stopped_session(catalog, process)
    catalog.ping()


def ask_stopped_session(catalog: Catalog, process: int) -> None:
    with catalog.database.read() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() == process
        with stopped(process):
            connection.execute(text("SELECT 1"))


def test_a_session_that_stopped_before_its_use_is_replaced(catalog: Catalog) -> None:
    process = session_of(catalog)
    with stopped(process):
        assert session_of(catalog) != process


def test_a_slow_statement_is_given_up_and_its_answer_never_taken_for_another(catalog: Catalog) -> None:
    with pytest.raises(CatalogBusyError), catalog.database.read() as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    with catalog.database.read() as connection:
        assert connection.execute(text("SELECT 7")).scalar_one() == 7


def test_a_migration_has_no_limit(catalog: Catalog) -> None:
    with catalog.database.write() as connection, postgresql.unlimited(connection):
        assert connection.execute(text("SELECT 7 FROM pg_sleep(1)")).scalar_one() == 7
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "0"


def test_a_server_that_accepts_connections_and_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        engine = create_engine(f"postgresql+psycopg://shop@127.0.0.1:{port}/shop?connect_timeout=2")
        postgresql.limit_answers(engine)
        with pytest.raises(OperationalError, match="timeout"), engine.connect():
            pass
        engine.dispose()
