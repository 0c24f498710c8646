"""A publication of sums that is killed at any moment leaves the old sums or the new ones."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.results.outside.test_publish_sums import LATER, hand_in, plain_sums
from tests.pipeline.working_store import a_working_store, now_of

# Publishes other sums again and again until it is killed; prints a line after each.
WORKER = """
import sys
from datetime import timedelta
from pathlib import Path
from tests.builders import NOW
from tests.pipeline.results.outside.test_publish_sums import hand_in, plain_sums
from tests.pipeline.working_store import a_working_store
with a_working_store(Path(sys.argv[1])) as store:
    project = store.catalog.projects.find(sys.argv[2])
    experiment = store.catalog.experiments.get(project.id, sys.argv[3])
    first = int(sys.argv[4])
    print("ready", flush=True)
    for number in range(first, first + 1000):
        watermark = NOW + timedelta(seconds=number)
        sums = plain_sums(project, experiment, converted=number % 10, watermark=watermark)
        hand_in(store, project, experiment, sums)
        print("step", flush=True)
"""


@pytest.mark.long(seconds=12)
def test_killed_at_any_moment_it_leaves_whole_sums(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        hand_in(store, project, experiment, plain_sums(project, experiment))
    moments = random.Random(4)  # noqa: S311 (moments, not secrets)
    for kill in range(3):
        command = [sys.executable, "-c", WORKER, str(tmp_path), project.id, experiment.id, f"{kill * 1000}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            steps = moments.randint(1, 5)
            for _ in range(steps):
                assert worker.stdout.readline() == "step\n"
            worker.kill()
        with a_working_store(tmp_path) as store:
            evidence = store.observe(now_of(store, experiment), project, now=LATER)
            assert evidence.visitors.tolist() == [10, 10]
            (control, treatment) = evidence.conversions[0].tolist()
            # The step after the last that was told may be there, too.
            assert control == treatment
            assert steps - 1 <= control < 10
