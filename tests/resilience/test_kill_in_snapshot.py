"""A kill during a snapshot leaves the previous snapshot intact, and few leftover files."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.snapshots_at_hand import assert_whole, files_in, manifest_of
from tests.pipeline.working_store import a_working_store, an_exposure
from tests.waiting import wait_until

# New events, counted and copied, over and over.
WRITER = """
import sys
from pathlib import Path
from tests.pipeline.working_store import a_working_store, an_exposure
with a_working_store(Path(sys.argv[1])) as store:
    project = store.catalog.projects.find(sys.argv[2])
    experiment, = store.catalog.experiments.of_project(project.id)
    number = store.ingest.last_seq_of(project.id)
    for told in ("ready", *[""] * 10_000):
        number += 1
        store.write(project, an_exposure(experiment, number % 2, f"v{number}"))
        store.rollup.refresh(project.id)
        store.snapshots.write(project.id)
        print(told, flush=True)
"""


@pytest.mark.slow
@pytest.mark.long(seconds=30)
@pytest.mark.parametrize("kills", [8])
def test_a_kill_at_any_moment_leaves_a_whole_snapshot(tmp_path: Path, kills: int) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, *(an_exposure(experiment, number % 2, f"w{number}") for number in range(3000)))
        store.rollup.refresh(project.id)
        store.snapshots.write(project.id)
        folder = store.snapshots.folder / project.id
    moments = random.Random(9)  # noqa: S311 (moments, not secrets)
    for _ in range(kills):
        before = manifest_of(folder)["last_seq"]
        write_and_be_killed(tmp_path, project.id, folder, moments.randint(0, 12))
        manifest = assert_whole(folder)
        assert manifest["last_seq"] >= before
        assert all((folder / path).exists() for path in manifest["retired"])
        # What is not named is of the one snapshot that was being written.
        assert len(files_in(folder)) < 20
    with a_working_store(tmp_path) as store:
        store.snapshots.write(project.id)
        store.snapshots.write(project.id)
    assert len(files_in(folder)) == 5
    assert assert_whole(folder)["last_seq"] > 3000


def write_and_be_killed(data_dir: Path, project_id: str, folder: Path, changes: int) -> None:
    """Kill the writer after so many changes to the files of the snapshot: often in the middle of one."""
    command = [sys.executable, "-c", WRITER, str(data_dir), project_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for _ in range(changes):
            before = names_in(folder)
            wait_until(lambda: names_in(folder) != before)  # noqa: B023 - waited for at once
        writer.kill()


def names_in(folder: Path) -> set[str]:
    """Every file, complete or not; unlike `files_in`, without a look at files that may be gone meanwhile."""
    return {name for _, _, names in os.walk(folder) for name in names}
