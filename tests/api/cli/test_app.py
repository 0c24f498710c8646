"""The command `truelift`: fast help, and unexpected failures with a traceback."""

import subprocess
import sys

import pytest

from api.cli import accounts
from tests.api.cli.conftest import Run

SLOW_TO_IMPORT = {"duckdb", "fastapi", "numpy", "polars", "pyarrow", "pydantic", "scipy", "sqlalchemy"}


def test_help_imports_nothing_slow() -> None:
    program = "import sys, api.cli.app; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "api.cli.app" in modules
    assert SLOW_TO_IMPORT & set(modules) == set()


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
