"""Publication: what does not belong to the store as it is now is refused or left."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.output import UnusableOutputError, new_output
from pipeline.distributed.publish import publish
from pipeline.store.warehouse import visitor_totals
from pipeline.store.warehouse.event_ranges import newest_seq
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.incremental import identity_links
from pipeline.store.warehouse.visitor_totals import Totals
from tests.builders import NOW, STARTED
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture
def counted(store: WorkingStore) -> CountedProject:
    project = store.add_project()
    experiments = [store.add_experiment(project), store.add_experiment(project)]
    store.write(project, *(an_exposure(one, visitor=f"v{number}") for one in experiments for number in "12"))
    store.rollup.refresh(project.id)
    return CountedProject(store=store, project=project, experiments=experiments)


@pytest.fixture
def output(counted: CountedProject, tmp_path: Path) -> Path:
    return rolled_up(counted, tmp_path)


def rolled_up(counted: CountedProject, tmp_path: Path) -> Path:
    """Count everything that is stored, into a folder."""
    with new_output(tmp_path / "out[1]", replace=False) as draft:
        extent = Extent(parts=1, at_once=1000, now=NOW)
        roll_up(OneProcess(counted.events()), counted.project, counted.experiments, extent, draft)
    return tmp_path / "out[1]"


def test_publishing_twice_changes_nothing(counted: CountedProject, output: Path) -> None:
    wanted = counted.digests()
    for _ in range(2):
        assert len(publish(counted.store, output).published) == 2
        assert [one.digest for one in counted.digests()] == [one.digest for one in wanted]
        assert wanted[0].digest[0] == 2


def test_events_that_come_later_are_added(counted: CountedProject, output: Path) -> None:
    store, (first, _) = counted.store, counted.experiments
    store.write(counted.project, an_exposure(first, visitor="v3"))
    publish(store, output)
    assert counted.digests()[0].digest[0] == 2
    assert first.id in store.rollup.refresh(counted.project.id).updated
    assert counted.digests()[0].digest[0] == 3


def test_the_totals_of_the_project_count_them(counted: CountedProject, tmp_path: Path) -> None:
    store, project = counted.store, counted.project
    # No refresh has counted this one.
    store.write(project, an_exposure(counted.experiments[0], visitor="v3"))
    publish(store, rolled_up(counted, tmp_path))
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        assert visitor_totals.read(cursor, project.id, first=0) == Totals(3, 0, 3, 0)


def test_changed_deleted_and_newer_experiments_are_left(counted: CountedProject, output: Path) -> None:
    store, (first, second) = counted.store, counted.experiments
    store.write(counted.project, an_exposure(first, visitor="v3"))
    store.rollup.refresh(counted.project.id)
    store.change(second, goals=(replace(second.goals[0], name="other", id="g_other"),))
    publication = publish(store, output)
    assert publication.published == ()
    assert publication.left[first.id] == "its results count newer events"
    assert "changed since it was counted" in publication.left[second.id]
    assert counted.digests()[0].digest[0] == 3


def test_only_a_part_of_the_experiments_is_published(counted: CountedProject, output: Path) -> None:
    store, (first, second) = counted.store, counted.experiments
    wanted = counted.digests()[1]
    store.change(first, goals=(replace(first.goals[0], id="g_other"),))
    store.rollup.forget([second.id])
    assert publish(store, output).published == (second.id,)
    assert counted.digests()[1].agrees_with(wanted)


def test_a_store_with_other_events_is_refused(counted: CountedProject, output: Path) -> None:
    store = counted.store
    with store.warehouse.transaction() as cursor:
        # rowid 0 is that of the first event.
        cursor.execute(f'DELETE FROM "{table_name(counted.project.id)}" WHERE rowid = 0')  # noqa: S608
    with pytest.raises(UnusableOutputError, match=r"counts 4 events up to number .* has 3 of them"):
        publish(store, output)


def test_an_output_that_lacks_rows_is_refused_and_results_stay(counted: CountedProject, output: Path) -> None:
    wanted = counted.digests()
    for path in output.rglob("visitors/*.parquet"):
        path.unlink()
    with pytest.raises(UnusableOutputError, match="has 0 visitors and 0 orders, and had 4 and 0"):
        publish(counted.store, output)
    assert [one.digest for one in counted.digests()] == [one.digest for one in wanted]


def test_a_store_with_links_of_removed_events_is_refused(counted: CountedProject, output: Path) -> None:
    store, project = counted.store, counted.project
    with store.warehouse.transaction() as cursor:
        identity_links.keep_without_events(cursor, project.id, newest_seq(store.warehouse, project.id) or 0)
    with pytest.raises(UnusableOutputError, match=r"removed for their age, .* count here"):
        publish(store, output)


def test_events_from_before_an_end_still_count(store: WorkingStore, tmp_path: Path) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, status="completed", completed_at=STARTED + timedelta(days=1))
    store.write(project, an_exposure(experiment))
    counted = CountedProject(store=store, project=project, experiments=[experiment])
    # The snapshot is from before the end of the experiment, the count from after it.
    output = rolled_up(counted, tmp_path)
    store.write(project, an_exposure(experiment, visitor="v2", minute=5))
    assert publish(store, output).published == (experiment.id,)
    assert store.rollup.refresh(project.id).updated == (experiment.id,)
    assert counted.digests()[0].digest[0] == 2
    # Now they are final, whatever is loaded again.
    assert publish(store, output).left == {experiment.id: "its results are final"}
