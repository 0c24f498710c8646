"""Progress of a run: how far it is, and how to repeat what failed."""

import subprocess
import sys
from pathlib import Path

from tests.progress import clock, line

ROOT = Path(__file__).parent.parent


def test_a_line_says_how_far_the_run_is_and_how_long_it_will_take() -> None:
    assert line(500, 2_000, 60.0, 0) == "500 of 2,000 tests, 1:00 so far, about 3:00 left"
    assert line(99, 2_000, 4.0, 0) == "99 of 2,000 tests, 0:04 so far"
    assert line(2_000, 2_000, 754.4, 3) == "2,000 of 2,000 tests, 12:34 so far, about 0:00 left, 3 failed"


def test_a_time_has_minutes_and_seconds() -> None:
    assert [clock(seconds) for seconds in (0, 59.9, 60, 3_600)] == ["0:00", "0:59", "1:00", "60:00"]


def test_a_failure_ends_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "test_numbers.py").write_text("def test_one():\n    assert 1 == 2\n\ndef test_two(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.progress", "-n", "1", "--hypothesis-seed=7"]
    ran = subprocess.run(
        [*command, "--rootdir", tmp_path, "-c", "/dev/null", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    repeated = ".venv/bin/python -m pytest -n 0 --hypothesis-seed=7 'test_numbers.py::test_one'"
    assert repeated in ran.stdout.splitlines()
    assert "test_numbers.py::test_one failed in its call" in ran.stdout.splitlines()
    assert "1 failed, 1 passed" in ran.stdout
