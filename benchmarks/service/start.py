"""Starts of the command line and of the service, against what their packages alone take.

The peer of `truelift --help` is the help of an empty Typer application. That of `truelift serve` until
`/readyz` answers is an application with this one route, which imports the packages that the service needs.
Both take turns, and the fastest of each counts; `run(events)` also starts on a store of so many events.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.service.serving import free_port, wait_until_ready
from benchmarks.warehouse.many_events import fill

COMMAND: Final = str(Path(sys.executable).with_name("truelift"))
RUNS: Final = 5
BARE_HELP: Final = """
import typer
app = typer.Typer(no_args_is_help=True, add_completion=False)
@app.command()
def first(): "The first command."
@app.command()
def second(number: int = 1): "The second command."
app(["--help"])
"""
BARE_SERVICE: Final = """
import sys
import duckdb, msgspec, numpy, polars, pydantic_settings, scipy, sqlalchemy, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/readyz")
def ready(): return {}
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds on the clock, and of the processor."""

    seconds: float
    processor: float


def run(events: int = 1_000_000) -> list[dict[str, Any]]:
    """Time help and starts; return a row each."""
    with tempfile.TemporaryDirectory() as folder:
        empty, full = Path(folder) / "empty", Path(folder) / "full"
        init = [COMMAND, "init", "--data-dir", str(empty), "--account", "Shop", "--email", "a@shop.example"]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
        fill(full, events, identified=True)
        # Its catalog is missing, and made by this start.
        _service([*_serve(full), "--accept-loss"], "--port")()
        bare = _service([sys.executable, "-c", BARE_SERVICE])
        return [
            _row("truelift --help", _help([COMMAND, "--help"]), _help([sys.executable, "-c", BARE_HELP])),
            _row("serve until ready, empty store", _service(_serve(empty), "--port"), bare),
            _row(f"serve until ready, {events:,} events", _service(_serve(full), "--port"), bare),
        ]


def _serve(folder: Path) -> list[str]:
    return [COMMAND, "serve", "--data-dir", str(folder)]


def _row(what: str, ours: Callable[[], Taken], bare: Callable[[], Taken]) -> dict[str, Any]:
    turns = [(ours(), bare()) for _ in range(RUNS)]
    mine, limit = (
        Taken(min(one.seconds for one in each), min(one.processor for one in each))
        for each in zip(*turns, strict=True)
    )
    return {
        "what": what,
        "seconds": f"{mine.seconds:.2f}",
        "processor": f"{mine.processor:.2f}",
        "bare, seconds": f"{limit.seconds:.2f}",
        "bare, processor": f"{limit.processor:.2f}",
        "ratio of seconds": f"{mine.seconds / limit.seconds:.2f}",
        "ratio of processor": f"{mine.processor / limit.processor:.2f}",
    }


def _help(command: Sequence[str]) -> Callable[[], Taken]:
    def ask() -> Taken:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        # Reaped here for its times, so that the object must not wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} ended with status {process.returncode}")
        return Taken(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)

    return ask


def _service(command: Sequence[str], *option: str) -> Callable[[], Taken]:
    def start() -> Taken:
        port, started = free_port(), time.perf_counter()
        output = subprocess.DEVNULL
        with subprocess.Popen([*command, *option, str(port)], stdout=output, stderr=output) as service:
            try:
                wait_until_ready(port, pause=0.01)
                return Taken(time.perf_counter() - started, _processor_seconds(service.pid))
            finally:
                service.terminate()

    return start


def _processor_seconds(process_id: int) -> float:
    """Read the processor time of a process, of user and system."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
