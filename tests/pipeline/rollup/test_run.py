from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.rollup.result_tables import ResultTables
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import aggregates
from tests.builders import NOW, STARTED, a_goal
from tests.pipeline.working_store import (
    WorkingStore,
    a_purchase,
    a_working_store,
    an_event,
    an_exposure,
)

THANKED = Goal(id="goal_t", name="Thanked", goal_type="pageview", config={"url": "/thanks"})


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project)


def test_first_run_counts_anew_later_ones_carry_on_and_a_run_without_news_does_nothing(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(20)))
    assert store.rollup.refresh(project.id).recounted == (experiment.id,)
    store.write(project, a_purchase("v3"))
    assert store.rollup.refresh(project.id).updated == (experiment.id,)
    assert str(store.rollup.refresh(project.id)) == "up to date already"


def test_project_without_events_is_up_to_date(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    assert str(store.rollup.refresh(project.id)) == "up to date already"
    assert store.rollup.is_fresh(experiment, project)
    assert store.observe(experiment, project).as_of is None


def test_rebuilding_finds_no_drift_where_there_is_none(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment), a_purchase())
    outcome = store.rollup.rebuild(project.id)
    assert (outcome.recounted, outcome.drifted) == ((experiment.id,), ())


def test_events_that_arrive_while_everything_is_counted_anew_are_no_drift(tmp_path: Path) -> None:
    arriving = list[EventRow]()

    def clock() -> datetime:
        """Tell the time, while more events come in."""
        if arriving:
            store.write(project, arriving.pop())
        return NOW

    with a_working_store(tmp_path, clock=clock) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment))
        arriving.extend(an_exposure(experiment, 1, f"late{number}") for number in range(5))

        assert store.rollup.rebuild(project.id).drifted == ()


@pytest.mark.parametrize("damage", ["UPDATE {aggregates} SET visitors = 7", "DELETE FROM {visitors}"])
def test_rebuilding_reports_and_mends_drift(
    store: WorkingStore, project: Project, experiment: Experiment, damage: str
) -> None:
    store.write(project, an_exposure(experiment), a_purchase())
    store.rollup.refresh(project.id)
    tables = {kind: f'"{kind}_{experiment.id}"' for kind in ("aggregates", "visitors")}
    with store.warehouse.transaction() as cursor:
        cursor.execute(damage.format(**tables))

    assert store.rollup.rebuild(project.id).drifted == (experiment.id,)

    assert store.rollup.rebuild(project.id).drifted == ()
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]


@pytest.mark.parametrize(
    "step", ["_add", pytest.param("update", marks=pytest.mark.long(seconds=1)), "publish"]
)
def test_run_that_dies_in_the_middle_leaves_what_was_published(
    store: WorkingStore,
    project: Project,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(20)))
    before = store.observe(experiment, project)
    store.write(project, an_exposure(experiment, 1, "late"), a_purchase("v1"))
    whole = getattr(ResultTables, step)

    def half(self: ResultTables, *arguments: Any) -> None:
        whole(self, *arguments)
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(ResultTables, step, half)
        with pytest.raises(MemoryError):
            store.rollup.refresh(project.id)
        stale = store.observe(experiment, project)
    assert stale.visitors.tolist() == before.visitors.tolist()
    assert stale.conversions.tolist() == before.conversions.tolist()
    assert store.observe(experiment, project).conversions.tolist() == [[1, 0]]


def test_goal_added_later_sees_earlier_events(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project, an_exposure(experiment), an_event("pageview", minute=1, url="https://x.example/thanks")
    )
    assert store.observe(experiment, project).conversions.tolist() == [[0, 0]]

    changed = store.change(experiment, goals=(*experiment.goals, THANKED))

    assert store.observe(changed, project).conversions.tolist() == [[0, 0], [1, 0]]


def test_goals_in_another_order_keep_their_numbers(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project, goals=(a_goal(), THANKED))
    store.write(project, an_exposure(experiment), a_purchase())
    assert store.observe(experiment, project).conversions.tolist() == [[1, 0], [0, 0]]

    changed = store.change(experiment, goals=(THANKED, a_goal()))

    assert store.observe(changed, project).conversions.tolist() == [[0, 0], [1, 0]]


def test_another_timezone_moves_days_and_keeps_totals(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    # 05:30 in Auckland on the second of March.
    store.write(project, an_exposure(experiment, minute=450))
    assert store.observe(experiment, project).daily.visitors[:, 0].tolist() == [1, 0]

    moved = store.catalog.projects.change(
        project.account_id,
        project.id,
        lambda one: replace(one, reporting_timezone="Pacific/Auckland"),
        actor="test",
    )

    daily = store.observe(experiment, moved).daily
    assert (str(daily.days[0]), daily.visitors[:, 0].tolist()) == ("2026-03-01", [0, 1, 0])


def test_completed_experiment_is_frozen(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    ended = store.change(experiment, status="completed", completed_at=STARTED + timedelta(minutes=5))
    late = [
        an_exposure(experiment, 1, "late", minute=6),
        a_purchase(minute=1, received_at=epoch_microseconds(NOW)),
    ]
    store.write(project, *late)
    assert store.observe(ended, project).visitors.tolist() == [1, 0]
    assert store.observe(ended, project).conversions.tolist() == [[0, 0]]

    stricter = {"attribution_window_days": 1, "bot_filtering": False}
    store.catalog.projects.change(
        project.account_id, project.id, lambda one: replace(one, settings=stricter), actor="test"
    )

    assert store.rollup.is_fresh(ended, project)
    assert store.rollup.rebuild(project.id).recounted == ()


def test_forgotten_experiment_has_no_results(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    store.rollup.forget([experiment.id])
    with store.warehouse.cursor() as cursor:
        tables = cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert not [name for (name,) in tables if name.endswith(experiment.id)]


def test_dimension_with_too_many_values_is_answered_from_visitor_rows(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("segment_codes", "segment_values"):
        monkeypatch.setattr(f"pipeline.rollup.{module}.MOST_VALUES", 3)
    regions = [an_exposure(experiment, 0, f"v{number}", region=f"r{number % 5}") for number in range(50)]
    store.write(project, *regions[:42])
    store.rollup.refresh(project.id)
    store.write(project, *regions[42:])

    assert store.observe(experiment, project, {"region": "r4"}).visitors.tolist() == [10, 0]

    with store.warehouse.cursor() as cursor:
        assert "region" not in {name for name, _ in aggregates.read_values(cursor, experiment.id, variants=2)}
    assert len(store.results.available_segments(experiment)["regions"]) == 3
