"""Counted in parts and published, results equal those of one machine to the last visitor."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.distributed.distributed_rollup import Extent, choose_parts, roll_up
from pipeline.distributed.event_files import UnusableEventsError
from pipeline.distributed.output import new_output
from pipeline.rollup.aggregates import add_up, negate
from tests.builders import NOW
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.working_store import WorkingStore, an_exposure

EXTENT = Extent(parts=3, at_once=400, now=NOW)


def count_in_parts(counted: CountedProject, folder: Path) -> None:
    engine = OneProcess(counted.events())
    with new_output(folder, replace=False) as draft:
        roll_up(engine, counted.project, counted.experiments, EXTENT, draft)


@pytest.mark.parametrize(
    ("events", "parts"), [(0, 4), (5_000, 4), (4_000_000, 4), (4_000_001, 8), (50_000_000, 52)]
)
def test_a_part_has_at_most_a_million_events(events: int, parts: int) -> None:
    assert choose_parts(events, cores=4) == parts


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long(seconds=6)) for seed in range(1, 5))]
)
def test_parts_give_the_results_of_one_machine(store: WorkingStore, tmp_path: Path, seed: int) -> None:
    counted = CountedProject.draw(store, 800, seed=seed)
    wanted = counted.digests()
    count_in_parts(counted, tmp_path / "out")
    found = counted.digests_of(tmp_path / "out")
    assert len(found) == len(counted.experiments)
    for before, after in zip(wanted, found, strict=True):
        assert after.digest == before.digest
        assert after.digest[0] > 5
        assert add_up([after.cells, negate(before.cells)]).is_empty()


def test_an_event_that_occurs_twice_in_the_files_is_refused(store: WorkingStore, tmp_path: Path) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    counted = CountedProject(store=store, project=project, experiments=[experiment])
    engine = OneProcess(pl.concat([counted.events(), counted.events()]))
    with (
        pytest.raises(UnusableEventsError, match="the same events in two files"),
        new_output(tmp_path / "out", replace=False) as draft,
    ):
        roll_up(engine, project, [experiment], EXTENT, draft)
    assert list(tmp_path.iterdir()) == []
