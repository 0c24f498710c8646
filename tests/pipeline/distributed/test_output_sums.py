"""Sums of an output: those of one machine, of experiments that are as they were counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.output import UnusableOutputError, new_output, read_output_manifest
from pipeline.distributed.output_sums import changed_since, sums_of_output
from pipeline.results.outside.counted_sums import sums_of
from pipeline.store.warehouse import published as published_rollups
from tests.builders import NOW
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.working_store import WorkingStore


@pytest.fixture(scope="module")
def counted(module_store: WorkingStore) -> CountedProject:
    return CountedProject.draw(module_store, 400)


@pytest.fixture(scope="module")
def output(counted: CountedProject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Count everything that is stored, into a folder whose name is a pattern."""
    folder = tmp_path_factory.mktemp("outputs") / "out[1]"
    with new_output(folder, replace=False) as draft:
        extent = Extent(parts=2, at_once=1000, now=NOW)
        roll_up(OneProcess(counted.events()), counted.project, counted.experiments, extent, draft)
    return folder


def test_they_are_those_of_the_store(counted: CountedProject, output: Path) -> None:
    experiments = {one.id: one for one in counted.experiments}
    manifest = read_output_manifest(output)
    found = {one.id: sums for one, sums in sums_of_output(output, manifest, experiments)}
    assert found.keys() == experiments.keys()
    with counted.store.warehouse.transaction() as cursor:
        for one in counted.experiments:
            record = published_rollups.find(cursor, one.id)
            assert record is not None
            wanted = sums_of(cursor, one, record, source="store")
            assert found[one.id].digest == wanted.digest
            assert found[one.id].last_exposed_at == wanted.last_exposed_at
            assert found[one.id].watermark == NOW


def test_deleted_and_changed_experiments_have_none(counted: CountedProject, output: Path) -> None:
    first, second, *others = counted.experiments
    now = {one.id: one for one in others} | {second.id: replace(second, goals=second.goals[:1])}
    manifest = read_output_manifest(output)
    assert changed_since(manifest, now) == {
        first.id: "it was deleted",
        second.id: "it changed since it was counted",
    }
    assert {one.id for one, _ in sums_of_output(output, manifest, now)} == {one.id for one in others}


def test_an_output_that_lacks_rows_is_refused(counted: CountedProject, output: Path) -> None:
    manifest = read_output_manifest(output)
    for path in output.rglob("visitors/*.parquet"):
        path.unlink()
    experiments = {one.id: one for one in counted.experiments}
    with pytest.raises(UnusableOutputError, match=r"has 0 visitors and 0 orders, and had .* copy it again"):
        list(sums_of_output(output, manifest, experiments))
