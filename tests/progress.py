"""Progress of a run: a line every some seconds, and the command that repeats a failed test alone."""

import time
from typing import Final

import pytest

SECONDS_BETWEEN_LINES: Final = 15.0
MOST_COMMANDS: Final = 10
# Of the tests: what the first ones took says too little of the others.
SHARE_BEFORE_ESTIMATES: Final = 0.05
# Options that change what a test does, and the values that they have by themselves.
KEPT_OPTIONS: Final = {"catalog": "sqlite", "hypothesis_profile": None, "hypothesis_seed": None}


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run in the process that prints, not in its workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


class Progress:
    """Counts the tests that ended, and prints where the run is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = self._last_line = time.monotonic()
        self._total = self._ended = self._failed = 0
        # Beside one process, dots say enough.
        self._prints_lines = config.get_verbosity() <= 0 and bool(config.getoption("numprocesses", None))

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests that workers share."""
        self._begin(len(ids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests of a run without workers."""
        self._begin(len(session.items))

    def _begin(self, total: int) -> None:
        if total and not self._total:
            self._total = total
            self._started = self._last_line = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ended, and print a line if the last one was a while ago."""
        self._failed += report.failed
        if report.failed and self._prints_lines:
            self._print(f"{report.nodeid} failed in its {report.when}")
        self._ended += report.when == "teardown"
        now = time.monotonic()
        if self._prints_lines and now - self._last_line >= SECONDS_BETWEEN_LINES and self._ended:
            self._last_line = now
            self._print(line(self._ended, self._total, now - self._started, self._failed))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Print no letter for a test that passed or failed, where lines say so."""
        is_told = self._prints_lines and report.when == "call" and (report.passed or report.failed)
        return (report.outcome, "", "") if is_told else None

    def _print(self, text: str) -> None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(text)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the command that repeats each failed test, alone and in one process."""
        failed = dict.fromkeys(
            report.nodeid for kind in ("failed", "error") for report in terminalreporter.getreports(kind)
        )
        if failed:
            terminalreporter.section("repeat a failed test alone")
            for name in list(failed)[:MOST_COMMANDS]:
                terminalreporter.write_line(command(self._config, name))


def line(ended: int, total: int, seconds: float, failed: int) -> str:
    """Describe where a run is, by the share of its tests that ended."""
    left = f", about {clock(seconds / ended * (total - ended))} left"
    estimate = left if ended >= SHARE_BEFORE_ESTIMATES * total else ""
    failures = f", {failed} failed" if failed else ""
    return f"{ended:,} of {total:,} tests, {clock(seconds)} so far{estimate}{failures}"


def clock(seconds: float) -> str:
    """Format seconds as minutes and seconds: 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def command(config: pytest.Config, name: str) -> str:
    """Return the command that runs one test in one process, with the options that it failed with."""
    given = {name: config.getoption(name, usual) for name, usual in KEPT_OPTIONS.items()}
    options = "".join(
        f" --{name.replace('_', '-')}={value}"
        for name, value in given.items()
        if value is not None and value != KEPT_OPTIONS[name]
    )
    return f".venv/bin/python -m pytest -n 0{options} '{name}'"
