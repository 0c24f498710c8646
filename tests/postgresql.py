"""PostgreSQL server for tests, and empty databases on it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.waiting import wait_until

USER = "truelift"
INITIAL = ("--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
# Its data are deleted at the end, so nothing need survive a crash.
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    # Every worker of the tests opens several catalogs.
    "max_connections": "500",
    "log_min_messages": "panic",
}


class MissingServerError(RuntimeError):
    """The machine has no PostgreSQL server."""


@contextmanager
def served() -> Iterator[str]:
    """Start a server on a socket of its own; yields the socket's folder, and removes it at the end."""
    programs = _programs()
    # Not pytest's own folder: only its owner may enter it, and its path is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="truelift-postgresql-"))
    # A new database is some 300 files: in memory, where the stores of tests are, nothing waits for a disk.
    data = Path(tempfile.mkdtemp(prefix=folder.name, dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    identity = _identity(folder, data)
    initdb: list[str | Path] = [programs / "initdb", "--pgdata", data, "--username", USER, *INITIAL]
    options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    server = None
    try:
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder, **identity)
        command: list[str | Path] = [programs / "postgres", "-D", data, "-k", folder, *options]
        server = subprocess.Popen(command, cwd=folder, **identity)
        _wait_for(folder, server)
        yield str(folder)
    finally:
        if server is not None:
            # SIGINT: it ends the sessions that are left, and then itself.
            server.send_signal(2)
            server.wait(timeout=30)
        for made in (folder, data):
            shutil.rmtree(made, ignore_errors=True)


def new_database(socket_folder: str) -> str:
    """Create an empty database, and return its URL."""
    name = f"catalog_{uuid4().hex}"
    with _connected(socket_folder) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://{USER}@/{name}?host={socket_folder}"


def import_sessions(team: psycopg.Connection[Any]) -> list[Any]:
    """List the sessions of imports in a database, as its team sees them."""
    return team.execute(
        """SELECT state FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'truelift import'"""
    ).fetchall()


def _connected(socket_folder: str) -> psycopg.Connection[Any]:
    return psycopg.connect(host=socket_folder, user=USER, dbname="postgres", autocommit=True)


def _programs() -> Path:
    # Debian keeps them out of the PATH, by version.
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise MissingServerError("PostgreSQL's server is not on this machine: apt-get install postgresql")
    return found[-1].parent if found else Path(on_path or "").parent


def _identity(*folders: Path) -> dict[str, Any]:
    """Return the user that the server runs as, since it refuses to be root; the folders become its own."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    owner = names.get("postgres") or names["nobody"]
    for folder in folders:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def _wait_for(folder: Path, server: subprocess.Popen[Any]) -> None:
    def postgresql_answers() -> bool:
        if server.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended at once with status {server.returncode}")
        try:
            _connected(str(folder)).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(postgresql_answers)
