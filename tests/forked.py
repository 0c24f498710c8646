"""Commands in processes that start fast: forked from a server that has imported the program once.

Each process that runs tests has one such server, which `multiprocessing` starts for the first command and
ends with it.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from api.cli.app import main

CONTEXT: Final = multiprocessing.get_context("forkserver")
# What a service imports, by and by, until it answers with results.
CONTEXT.set_forkserver_preload(
    [
        "api.app",
        "api.cli.app",
        "api.cli.serving",
        "engine.analysis.analyze",
        "pyarrow",
        "pytest",
        "tests.built_routes",
        "uvloop",
    ]
)


@dataclass(frozen=True, slots=True)
class ForkedCommand:
    """A command in a process of its own, with the part of Popen's interface that tests use."""

    process: ForkServerProcess

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, that of a signal negative; None while it runs."""
        return self.process.exitcode

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float = 60) -> int:
        """Wait until it ends; TimeoutExpired."""
        self.process.join(timeout)
        status = self.process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("truelift", timeout)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)


def start_command(*arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> ForkedCommand:
    """Start `truelift` with these arguments; what it prints is appended to `log`, errors too."""
    given = dict(os.environ if environment is None else environment)
    process = CONTEXT.Process(target=_run, args=(arguments, log, given, Path.cwd()))
    process.start()
    return ForkedCommand(process)


def _run(arguments: tuple[str, ...], log: Path, environment: dict[str, str], folder: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(file, stream.fileno())
    os.close(file)
    sys.argv = ["truelift", *arguments]
    main()
