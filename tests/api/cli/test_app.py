"""The command `truelift`: fast help, and unexpected failures with a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from api.cli import accounts
from tests.api.cli.conftest import Run

SLOW_TO_IMPORT = (
    "alembic",
    "apscheduler",
    "cryptography",
    "duckdb",
    "fastapi",
    "mcp",
    "numpy",
    "polars",
    "pyarrow",
    "pydantic",
    "scipy",
    "sqlalchemy",
    "uvicorn",
)
# What a service imports when it is first needed, among them its own routes, pages and analysis.
LATER = {
    *("alembic", "altair", "httpcore2", "httpx2", "jinja2", "limits", "maxminddb", "mcp", "mcp_types"),
    *("numpy.f2py", "pyarrow", "pymc", "scipy.special", "scipy.stats", "sqlalchemy.dialects.postgresql"),
    *("ua_parser", "yaml", "api.resources", "api.openapi", "api.dashboard", "engine.analysis.analyze"),
}
# What `serve` imports and does until it has answered its first check of health.
A_START = """
import asyncio, sys
from pathlib import Path
from api import app as application
from api.server.config import server_config
from pipeline.settings import Settings
# It goes on after the start, in a thread of its own.
application.compile_patterns = lambda: None
settings = Settings(data_dir=Path(sys.argv[1]))
app = application.create_app(settings)
server_config(app, settings)

async def status(path):
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"headers": [], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http"}
    sent = []
    async def send(message): sent.append(message)
    async def receive(): return {"type": "http.request", "body": b""}
    await app({**scope, "app": app, "root_path": "", "http_version": "1.1"}, receive, send)
    return sent[0]["status"]

async def start():
    async with app.router.lifespan_context(app):
        assert await status("/healthz") == 200
        print(*sys.modules)
        assert await status("/api/v1/projects") == 401

asyncio.run(start())
"""
# Commands of the catalog alone, for which the settings are read by pydantic.
OF_THE_CATALOG = {"pydantic", "sqlalchemy"}


def imported_by(*arguments: str | Path) -> tuple[int, set[str]]:
    """Return the exit status of a command in a process of its own, and which slow packages it imported."""
    program = (
        "import atexit, sys; from api.cli.app import main; "
        f"atexit.register(lambda: print(*sys.modules.keys() & {SLOW_TO_IMPORT!r}, file=sys.stderr)); main()"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, set(ran.stderr.splitlines()[-1].split())


def test_help_imports_nothing_slow() -> None:
    assert imported_by("--help") == (0, set())
    # Typer itself reads the options of a command by pydantic.
    assert imported_by("keys", "create", "--help") == (0, {"pydantic"})


def test_commands_of_the_catalog_import_neither_arrays_nor_a_warehouse_nor_a_server(tmp_path: Path) -> None:
    init = ("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example")
    assert imported_by(*init) == (0, OF_THE_CATALOG)
    assert imported_by("account", "update", "--data-dir", tmp_path, "--account", "acc_1") == (
        1,
        OF_THE_CATALOG,
    )


def test_a_start_imports_nothing_that_neither_visitors_nor_health_checks_need(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", A_START, str(tmp_path / "store")]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "api.mcp.endpoint" in modules
    assert LATER & modules == set()


def test_help_lists_the_commands(run: Run) -> None:
    ran = run("--help")
    assert ran.status == 0
    assert all(name in ran.out for name in ("init", "serve", "demo", "import", "analyze", "keys"))


def test_an_unexpected_failure_is_raised(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(accounts, "opened_catalog", fail)
    with pytest.raises(ZeroDivisionError):
        run("init", "--data-dir", ".", "--account", "Shop", "--email", "a@shop.example")
