import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.working_store import a_purchase, a_working_store, an_exposure

# Stores events and counts everything anew until it is killed; prints a line after each step.
WORKER = """
import sys
from pathlib import Path
from tests.pipeline.working_store import a_working_store, an_event
with a_working_store(Path(sys.argv[1])) as store:
    project = store.catalog.projects.find(sys.argv[2])
    print("ready", flush=True)
    while True:
        store.rollup.rebuild(project.id)
        print("step", flush=True)
        store.write(project, an_event("identify", "v1", user_id="u1"))
        print("step", flush=True)
        store.rollup.refresh(project.id)
        print("step", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.long(seconds=24))])
def test_rollup_killed_at_any_moment_leaves_whole_results(tmp_path: Path, kills: int) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        visitors = [an_exposure(experiment, number % 2, f"v{number}") for number in range(400)]
        store.write(project, *visitors, *(a_purchase(f"v{number}", minute=1) for number in range(100)))
        store.rollup.refresh(project.id)
    moments = random.Random(4)  # noqa: S311 (moments, not secrets)
    for _ in range(kills):
        _work_and_be_killed(tmp_path, project.id, moments.randint(0, 9))
        with a_working_store(tmp_path) as store:
            evidence = store.observe(experiment, project)
            assert evidence.visitors.tolist() == [200, 200]
            assert evidence.conversions.tolist() == [[50, 50]]
            assert store.rollup.rebuild(project.id).drifted == ()


def _work_and_be_killed(folder: Path, project_id: str, steps: int) -> None:
    """Kill a worker after so many steps, in the middle of the next one."""
    command = [sys.executable, "-c", WORKER, str(folder), project_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        for _ in range(steps):
            assert worker.stdout.readline() == "step\n"
        worker.kill()
