"""Limit of custom dimension keys: the first 200 of a project, over restarts and in stores that had more."""

import json
from pathlib import Path

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import AttributeUnit
from pipeline.events.custom_keys import MOST_KEYS
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events, segment_dimensions
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure


def exposures(experiment: Experiment, keys: range) -> list[EventRow]:
    """Build exposures of visitors, each with one key of its own and one that all have."""
    return [
        an_exposure(
            experiment, n % 2, f"v{n}", custom=json.dumps({f"key{n}": "yes", "plan": "pro"}, sort_keys=True)
        )
        for n in keys
    ]


def keys_offered(store: WorkingStore, experiment: Experiment) -> set[str]:
    return {one["key"] for one in store.results.available_segments(experiment)["custom_dimensions"]}


def dropped(store: WorkingStore, project: Project) -> tuple[int, str | None] | None:
    with store.warehouse.cursor() as cursor:
        return segment_dimensions.read_dropped(cursor, project.id)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


FIRST = {"plan", *(f"key{number}" for number in range(MOST_KEYS - 1))}


def test_the_first_keys_stay_whatever_comes_later_and_whenever_the_service_starts(folder: Path) -> None:
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, *exposures(experiment, range(150)))
        store.rollup.refresh(project.id)
    with a_working_store(folder) as store:
        store.write(project, *exposures(experiment, range(150, 260)))
        store.rollup.refresh(project.id)
        assert keys_offered(store, experiment) == FIRST
        assert dropped(store, project) == (260 - (MOST_KEYS - 1), "key199")
        assert store.rollup.rebuild(project.id).drifted == ()
        assert keys_offered(store, experiment) == FIRST
        # The attributes that are kept stay, and so do the visitors.
        found = store.observe(
            experiment, project, {"custom_dimension_key": "plan", "custom_dimension_value": "pro"}
        )
        assert found.visitors.sum() == 260


def test_the_attribute_of_a_unit_is_kept_however_many_there_are(folder: Path) -> None:
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project, unit=AttributeUnit(attribute="account"))
        accounts = [
            row._replace(custom=json.dumps({"account": f"a{n}", f"further{n}": "yes"}))
            for n, row in enumerate(exposures(experiment, range(3)))
        ]
        store.write(project, *exposures(experiment, range(260)), *accounts[:2])
        store.write(project, accounts[2])
        with store.warehouse.cursor() as cursor:
            query = f"SELECT custom FROM \"{events.table_name(project.id)}\" WHERE custom LIKE '%account%'"  # noqa: S608 (named here)
            assert cursor.execute(query).fetchall() == [(f'{{"account":"a{n}"}}',) for n in range(3)]
            assert "account" in (segment_dimensions.read_custom_keys(cursor, project.id) or ())
        found = dropped(store, project)
        assert found is not None
        assert found[0] == 260 - (MOST_KEYS - 1) + 3


def test_a_commit_that_fails_takes_no_key(folder: Path) -> None:
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        bad = exposures(experiment, range(300, 301))[0]._replace(received_at=None)  # type: ignore[arg-type] # on purpose
        with pytest.raises(Exception, match="NOT NULL"):
            store.write(project, bad)
        store.write(project, *exposures(experiment, range(250)))
        store.rollup.refresh(project.id)
        assert keys_offered(store, experiment) == FIRST


def test_a_store_with_many_keys_opens_and_keeps_the_first(folder: Path) -> None:
    many = 5_000
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        with store.warehouse.transaction() as cursor:
            # As an earlier version stored them: all keys, and no record of them.
            events.create_table(cursor, project.id)
            batch = events.number_events(events.to_batch(exposures(experiment, range(many))), 1)
            events.append(cursor, project.id, batch)
            segment_dimensions.forget_custom_keys(cursor, project.id)
    with a_working_store(folder) as store:
        store.rollup.refresh(project.id)
        assert keys_offered(store, experiment) == FIRST
        assert dropped(store, project) == (many - (MOST_KEYS - 1), "key199")
        left_out = store.results.segment_evidence(experiment, project, now=NOW).left_out
        assert len([name for name in left_out if name.startswith("custom:")]) == MOST_KEYS - 20


def test_a_removed_project_leaves_no_keys(folder: Path) -> None:
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, *exposures(experiment, range(10)))
        store.ingest.forget(project.id)
        assert dropped(store, project) is None
