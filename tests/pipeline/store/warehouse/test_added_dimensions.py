"""Results that an earlier version stored without a dimension go on with it."""

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.rollup.segment_values import dimensions_left_out
from pipeline.store.warehouse import published
from pipeline.store.warehouse.added_dimensions import add_missing_dimensions
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.visitors import result_table
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure, now_of

VISITORS = tuple(f"v{number}" for number in range(6))


def fill(store: WorkingStore, **fields: object) -> tuple[Project, Experiment]:
    project = store.add_project()
    experiment = store.add_experiment(project, **fields)
    exposures = [an_exposure(experiment, place % 2, one, country="DE") for place, one in enumerate(VISITORS)]
    store.write(project, *exposures, a_purchase("v1", minute=1))
    store.rollup.refresh(project.id)
    return project, experiment


def without(store: WorkingStore, project: Project, experiment: Experiment, dimension: str) -> None:
    """Make the store one that does not know the dimension."""
    with store.warehouse.transaction() as cursor:
        for table in (result_table("visitors", experiment.id), f'"{table_name(project.id)}"'):
            cursor.execute(f"ALTER TABLE {table} DROP COLUMN {dimension}")
        cursor.execute(
            "UPDATE published_rollups SET dimensions = list_filter(dimensions, lambda d: d <> ?)", [dimension]
        )


@pytest.fixture
def earlier(tmp_path: Path) -> tuple[Path, Project, Experiment]:
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        without(store, project, experiment, "language")
    return tmp_path, project, experiment


def test_a_refresh_right_after_the_update_counts_on(earlier: tuple[Path, Project, Experiment]) -> None:
    folder, project, experiment = earlier
    with a_working_store(folder) as store:
        before = store.observe(experiment, project, {"country": "DE"})
        speaking = [an_exposure(experiment, 0, "w", minute=3, language="de-AT")]
        # A visitor from before comes again, and keeps having no language.
        again = an_exposure(experiment, 1, "v1", minute=4, language="fr")
        store.write(project, *speaking, again)
        assert store.rollup.refresh(project.id).updated == (experiment.id,)
        assert store.results.available_segments(experiment)["languages"] == ["de-AT"]
        assert store.observe(experiment, project, {"language": "de-at"}).visitors.tolist() == [1, 0]
        assert store.observe(experiment, project, {"language": "fr"}).visitors.tolist() == [0, 0]
        filtered = {"language": "de-AT", "device_type": "mobile"}
        assert store.observe(experiment, project, filtered).visitors.tolist() == [0, 0]
        after = store.observe(experiment, project, {"country": "DE"})
        assert after.visitors.tolist() == before.visitors.tolist() == [3, 3]
        assert after.conversions.tolist() == before.conversions.tolist()
        assert store.rollup.rebuild(project.id).drifted == ()
        assert store.observe(experiment, project, {"language": "de-at"}).visitors.tolist() == [1, 0]


def test_without_the_column_nothing_could_be_counted(earlier: tuple[Path, Project, Experiment]) -> None:
    folder, project, experiment = earlier
    with a_working_store(folder) as store:
        with store.warehouse.transaction() as cursor:
            cursor.execute(f"ALTER TABLE {result_table('visitors', experiment.id)} DROP COLUMN language")
        store.write(project, an_exposure(experiment, 0, "w", minute=3))
        with pytest.raises(duckdb.BinderException, match="language"):
            store.rollup.refresh(project.id)


def test_results_that_are_final_offer_a_new_dimension_without_values(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        ended = NOW - timedelta(hours=1)
        project, experiment = fill(store, status="completed", completed_at=ended)
        without(store, project, experiment, "language")
    with a_working_store(tmp_path) as store:
        assert store.rollup.refresh(project.id).updated == ()
        experiment = now_of(store, experiment)
        with store.warehouse.transaction() as cursor:
            record = published.find(cursor, experiment.id)
            assert record is not None
            assert record.is_final
            assert list(record.dimensions) == sorted({*record.dimensions, "language"})
            assert "language" not in dimensions_left_out(cursor, experiment, record)
        assert store.results.available_segments(experiment)["languages"] == []
        assert store.observe(experiment, project, {"language": "de"}).visitors.tolist() == [0, 0]
        assert store.observe(experiment, project).visitors.tolist() == [3, 3]


def test_every_table_is_looked_at_once(earlier: tuple[Path, Project, Experiment]) -> None:
    folder, _, experiment = earlier
    with a_working_store(folder) as store, store.warehouse.transaction() as cursor:
        cursor.execute(f"ALTER TABLE {result_table('visitors', experiment.id)} DROP COLUMN language")
        assert add_missing_dimensions(cursor) == [experiment.id]
        assert add_missing_dimensions(cursor) == []
