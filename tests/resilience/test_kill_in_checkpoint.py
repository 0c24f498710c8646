"""Committed events survive a kill during a checkpoint."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.event_counts import count_by_type

# Commits and checkpoints in turn, and prints the last sequence number after each commit.
WRITER = """
import sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import Warehouse
warehouse = Warehouse.open(Settings(data_dir=Path(sys.argv[1])))
seq = events.last_seq(warehouse)
while True:
    rows = [EventRow(1, 1, "e", 1, "exposure", "v", seq + n, custom="x" * 500) for n in range(1, 501)]
    with warehouse.transaction() as cursor:
        events.create_table(cursor, "prj_1")
        events.append(cursor, "prj_1", events.number_events(events.to_batch(rows), seq + 1))
    seq += 500
    print(seq, flush=True)
    warehouse.checkpoint()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.long(seconds=18))])
def test_what_was_committed_survives_a_kill_in_a_checkpoint(tmp_path: Path, kills: int) -> None:
    for number in range(kills):
        committed = committed_until_killed(tmp_path, commits=3 + 2 * number)
        warehouse = Warehouse.open(Settings(data_dir=tmp_path))
        # One more commit may have ended before the kill came.
        assert events.last_seq(warehouse) in {committed, committed + 500}
        assert count_by_type(warehouse, "prj_1") == {"exposure": events.last_seq(warehouse)}
        warehouse.close()


def committed_until_killed(data_dir: Path, commits: int) -> int:
    """Kill the writer right after a commit, in the checkpoint; returns the last number it printed."""
    command = [sys.executable, "-c", WRITER, str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(commits)]
        writer.kill()
        # What it said before it died is still in the pipe.
        said += writer.stdout.readlines()
    return int(said[-1])
