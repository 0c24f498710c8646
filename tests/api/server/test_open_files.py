"""The limit of open files, and how many connections fit into it."""

import resource
import subprocess
import sys

import pytest

from api.server.open_files import RESERVED_FILES, most_connections

RAISED = """
import resource
from api.server.open_files import raise_file_limit
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
assert raise_file_limit() == hard
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
assert raise_file_limit() == hard
"""


def test_the_limit_is_raised_as_far_as_the_system_allows() -> None:
    # In a process of its own, since a limit once lowered may not be raised again.
    subprocess.run([sys.executable, "-c", RAISED], check=True)


@pytest.mark.parametrize(
    ("file_limit", "connections"),
    [(100, 50), (1024, 1024 - RESERVED_FILES), (2**20, 10_000), (resource.RLIM_INFINITY, 10_000)],
)
def test_connections_leave_files_for_the_store(file_limit: int, connections: int) -> None:
    assert most_connections(10_000, file_limit) == connections
