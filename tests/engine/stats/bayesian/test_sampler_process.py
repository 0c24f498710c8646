"""The sampler process refuses what is no archive, and its standard output holds draws only."""

import io
import subprocess
import sys

import numpy as np


def answer(request: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "engine.stats.bayesian.sampler_process"]
    return subprocess.run(command, input=request, capture_output=True, check=False)


def test_a_request_that_is_no_archive_ends_the_process_with_an_error() -> None:
    ended = answer(b"no archive")
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert b"Error" in ended.stderr


def test_a_request_without_its_settings_names_the_one_missing() -> None:
    request = io.BytesIO()
    np.savez(request, draws=np.array(10))
    ended = answer(request.getvalue())
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"timeout_seconds" in ended.stderr
