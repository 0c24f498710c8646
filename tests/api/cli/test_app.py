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


def test_the_application_imports_assistants_and_distributions_when_they_are_first_needed() -> None:
    program = "import sys, api.app; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "api.mcp.endpoint" in modules
    later = {"alembic", "mcp", "mcp_types", "httpx2", "scipy.special", "scipy.stats", "numpy.f2py"}
    assert later & set(modules) == set()


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
