"""A kill in the spool, in a load or in the removal of loaded files loses no event and doubles none."""

import random
from collections import Counter
from pathlib import Path

import pytest

from pipeline.inspection import inspect_store
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.spool.segments import segment_paths
from tests.pipeline.working_store import a_working_store
from tests.resilience.kills import Workers
from tests.resilience.workers import ACKNOWLEDGED


def survive(tmp_path: Path, workers: Workers, kills: int, *, seed: int) -> None:
    """Kill the work at points on all of its way, and go on with the same store each time."""
    store = tmp_path / "store"
    with a_working_store(store) as opened:
        opened.add_project()
    counting = workers.finish("ingest", store, point=0)
    assert counting.points is not None
    moments, before = random.Random(seed), workers.kills  # noqa: S311 (moments, not secrets)
    waited = 0
    for number in range(kills):
        share = (number + moments.random()) / kills
        workers.run("ingest", store, point=1 + int(0.9 * share * counting.points))
        waited += bool(segment_paths(store / "spool"))
        assert inspect_store(Settings(data_dir=store)) == []
        assert_whole(store, tmp_path / ACKNOWLEDGED)
    assert workers.kills - before >= kills * 2 // 3
    # Some of the kills left events that only the next start loaded.
    assert waited > 0
    workers.finish("ingest", store)
    assert segment_paths(store / "spool") == {}
    assert_whole(store, tmp_path / ACKNOWLEDGED)


def assert_whole(store: Path, acknowledged: Path) -> None:
    """Check that each acknowledged request is stored once, and any other once or not at all."""
    with open_pipeline(Settings(data_dir=store)) as services:
        (project,) = services.catalog.projects.all()
        with services.warehouse.cursor() as cursor:
            query = f'SELECT seq, event_id FROM "events_{project.id}"'  # noqa: S608 (an id of ours)
            rows = cursor.execute(query).fetchall()
    assert len({seq for seq, _ in rows}) == len(rows)
    assert set(Counter(event_id for _, event_id in rows).values()) == {1}
    sizes = Counter(event_id.rpartition("/")[0] for _, event_id in rows)
    answered = [line.split("\t") for line in acknowledged.read_text().splitlines()]
    assert answered
    assert all(sizes[name] == int(size) for name, size in answered)
    # A request is there whole or not at all: its size follows from its name.
    for name, size in sizes.items():
        sender = name.split("-")[1]
        assert size == (1 if sender == "bulk" else 1 + 5 * int(sender))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.long(seconds=48))])
def test_nothing_is_lost_or_doubled_by_kills(tmp_path: Path, workers: Workers, kills: int) -> None:
    survive(tmp_path, workers, kills, seed=kills)
