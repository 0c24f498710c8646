"""A real PostgreSQL server for the tests, from Debian's packages, and empty databases on it."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

USER = "truelift"
INITIAL = ("--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
# What is written here is thrown away: nothing need survive a crash.
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
    """Start a server on a socket of its own; yields the socket's folder, and removes it all at the end."""
    programs = _programs()
    # Not pytest's own folder: nobody but its owner could enter it, and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="truelift-postgresql-"))
    identity = _identity(folder)
    data = folder / "data"
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
        shutil.rmtree(folder, ignore_errors=True)


def new_database(socket_folder: str) -> str:
    """The URL of a new and empty database, written as people write it."""
    name = f"catalog_{uuid4().hex}"
    with _connected(socket_folder) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://{USER}@/{name}?host={socket_folder}"


def _connected(socket_folder: str) -> psycopg.Connection[Any]:
    return psycopg.connect(host=socket_folder, user=USER, dbname="postgres", autocommit=True)


def _programs() -> Path:
    # Debian keeps them out of the PATH, by version.
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise MissingServerError("PostgreSQL's server is not on this machine: apt-get install postgresql")
    return found[-1].parent if found else Path(on_path or "").parent


def _identity(folder: Path) -> dict[str, Any]:
    """As whom it runs: the server refuses to be root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    owner = names.get("postgres") or names["nobody"]
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def _wait_for(folder: Path, server: subprocess.Popen[Any]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended at once with status {server.returncode}")
        try:
            _connected(str(folder)).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("PostgreSQL did not answer within half a minute")
