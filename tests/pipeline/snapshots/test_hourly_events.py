"""Event files: each event in one of them, whatever ends a run, and what erasures leave beside them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.event_files import SCHEMA, find_files, read_batches
from pipeline.distributed.output import new_output
from pipeline.jobs.jobs import write_event_files
from pipeline.snapshots.hourly_events import EventFiles, EventFilesError, write_due
from pipeline.sources import object_store
from pipeline.store.warehouse.event_ranges import newest_seq
from tests.builders import NOW
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.erasure.erased_persons import GONE, STAYS, erase_visitor, fill
from tests.pipeline.s3_server import an_s3_server
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    folder = tmp_path_factory.mktemp("event_files")
    with a_working_store(folder / "store", event_files=str(folder / "lake"), event_files_days=2) as opened:
        yield opened


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project)


def lake(store: WorkingStore, project: Project) -> Path:
    return Path(store.settings.event_files or "") / project.id


def written(store: WorkingStore, project: Project) -> list[str]:
    """Return the visitors of all events in the files, in order."""
    files = sorted(lake(store, project).glob("events/*/*.parquet"))
    return [one for path in files for one in pl.read_parquet(path, glob=False)["visitor_id"].to_list()]


def write(store: WorkingStore, project: Project, *, days: int = 0) -> int:
    return write_due(store.warehouse, store.settings, project.id, now=NOW + timedelta(days=days))


def test_every_event_is_in_one_file_whatever_ends_a_run(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(project, an_exposure(experiment, visitor="v1"), an_exposure(experiment, visitor="v2"))
    assert write(store, project) == 2
    assert write(store, project) == 0
    store.write(project, an_exposure(experiment, visitor="v3"))

    def fail(*_: object) -> None:
        raise OSError("ended")

    with monkeypatch.context() as patched:
        patched.setattr(EventFiles, "_place", fail)
        with pytest.raises(OSError, match="ended"):
            write(store, project)
    store.write(project, an_exposure(experiment, visitor="v4"))
    assert write(store, project) == 2
    assert written(store, project) == ["v1", "v2", "v3", "v4"]
    (_, last) = sorted(lake(store, project).glob("events/*/*.parquet"))
    assert last.parent.name == "dt=2026-03-02"
    assert int(last.stem.partition("-")[2]) == newest_seq(store.warehouse, project.id)


def test_old_files_go_but_for_the_last_which_is_the_position(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    for day, visitor in enumerate(("v1", "v2")):
        store.write(project, an_exposure(experiment, visitor=visitor))
        write(store, project, days=day)
    assert write(store, project, days=2) == 0
    assert written(store, project) == ["v1", "v2"]
    assert write(store, project, days=9) == 0
    assert written(store, project) == ["v2"]
    store.write(project, an_exposure(experiment, visitor="v3"))
    assert write(store, project, days=9) == 1
    assert written(store, project) == ["v3"]


def test_files_of_another_store_are_not_continued(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    folder = lake(store, project) / "events" / "dt=2026-03-02"
    folder.mkdir(parents=True)
    later = folder / f"{1:015d}-{10**9:015d}.parquet"
    later.write_bytes(b"")
    with pytest.raises(EventFilesError, match="has events up to number 1,000,000,000, and this store only"):
        write(store, project)
    later.unlink()
    assert write(store, project) == 1


def test_the_job_writes_each_project_once_an_hour(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    write_event_files(store)
    assert written(store, project) == ["v1"]
    store.write(project, an_exposure(experiment, visitor="v2"))
    write_event_files(store)
    assert written(store, project) == ["v1"]


def test_an_erasure_leaves_a_tombstone_and_its_receipt_names_the_files(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    assert erase_visitor(store, project, "nobody").not_reached == ()
    write(store, project)
    receipt = erase_visitor(store, project)
    assert receipt.not_reached == ("event files",)
    tombstone = json.loads((lake(store, project) / "tombstones" / f"{receipt.id}.json").read_text())
    rows = pl.concat(
        pl.read_parquet(path, glob=False) for path in lake(store, project).glob("events/*/*.parquet")
    )
    keys = {name: [int(key) for key in tombstone[name]] for name in ("visitor_key", "user_key")}
    is_gone = pl.any_horizontal(pl.col(name).is_in(of_name) for name, of_name in keys.items())
    left = rows.filter(~(is_gone.fill_null(value=False) & (pl.col("seq") <= tombstone["seq"])))
    assert GONE in rows["visitor_id"].to_list()
    assert GONE not in left["visitor_id"].to_list()
    assert STAYS in left["visitor_id"].to_list()
    # The newest event may have been the person's: what comes next is behind it nevertheless.
    store.write(project, an_exposure(experiment, visitor="v9"))
    assert write(store, project) == 1


def test_a_cluster_counts_the_files(store: WorkingStore, tmp_path: Path) -> None:
    counted = CountedProject.draw(store, 300)
    wanted = counted.digests()
    write(store, counted.project)
    files = find_files(lake(store, counted.project), counted.project.id)
    events = pl.concat([rows for path in files for rows in read_batches(path, SCHEMA.names())])
    with new_output(tmp_path / "out", replace=False) as draft:
        extent = Extent(parts=2, at_once=1000, now=NOW)
        roll_up(OneProcess(events), counted.project, counted.experiments, extent, draft)
    assert [one.digest for one in counted.digests_of(tmp_path / "out")] == [one.digest for one in wanted]


def test_a_bucket_has_the_same_files(store: WorkingStore, project: Project, experiment: Experiment) -> None:
    settings = store.settings.model_copy(update={"event_files": "s3://lake/of/truelift"})
    store.write(project, an_exposure(experiment, visitor="v1"))
    with an_s3_server("lake"):
        for expected in (1, 0):
            assert write_due(store.warehouse, settings, project.id, now=NOW) == expected
        (path,) = [path for path, _ in object_store.list_objects("lake/of/truelift")]
        with object_store.file_system().open_input_file(path) as file:
            assert pl.read_parquet(file.read())["visitor_id"].to_list() == ["v1"]
