"""Commands, run in this process with the arguments of a shell."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from api.cli.app import main


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit status of a command, and its output."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)


Run = Callable[..., Ran]
# Typer builds all commands for each that is run: as a process runs one, once is enough for all tests too.
command_of = cache(typer.main.get_command)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def truelift(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["truelift", *map(str, arguments)])
        monkeypatch.setattr(typer.main, "get_command", command_of)
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return truelift


@pytest.fixture
def account(run: Run, tmp_path: Path) -> dict[str, str]:
    """A store in `tmp_path` with one account: its ids and its token."""
    made: dict[str, str] = run(
        "init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example", "--json"
    ).json
    return made
