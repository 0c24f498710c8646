"""Retention: old events go, and no result changes, not at the next rebuild either."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import AttributeUnit
from pipeline.jobs.jobs import remove_events_beyond_retention
from pipeline.results.exports import Exports
from pipeline.results.filters import SegmentFilters
from tests.builders import NOW, STARTED
from tests.examples import examples, is_many
from tests.pipeline.rollup.drawn_events import EVENTS, RULES
from tests.pipeline.rollup.few_linked import a_store_of_few_linked
from tests.pipeline.rollup.measured_goals import goals, row_of
from tests.pipeline.rollup.naive_comparison import compare_all
from tests.pipeline.rollup.test_erasing import stored_numbers
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

LATER = STARTED + timedelta(days=1)


@pytest.fixture(scope="module")
def few_linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_store_of_few_linked(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@examples(1, 12, seconds=40)
@given(EVENTS, RULES, st.integers(1, 9))
# So late that no outcome is known that takes days.
@example([{"kind": "exposure", "visitor": "v3", "minute": 12_439, "shown": (0, 0)}], {}, 1)
def test_open_experiments_are_what_they_would_be_with_all_events(
    few_linked: WorkingStore, drawn: list[dict[str, Any]], rules: dict[str, Any], days: int
) -> None:
    check(few_linked, drawn, rules, days)


def check(store: WorkingStore, drawn: list[dict[str, Any]], rules: dict[str, Any], days: int) -> None:
    """Remove what is older than some days, and compare with a naive count of all events."""
    project = store.add_project(reporting_timezone="America/New_York", settings=rules)
    experiments = [
        store.add_experiment(project, goals=goals("g0", "tax/net")),
        store.add_experiment(
            project,
            weights=(1, 1, 1),
            goals=goals("g1", "value", cap_percentile=80, per="order"),
            statistics=Statistics(cuped=True, pre_period_days=3),
        ),
        *(store.add_experiment(project, goals=goals(f"g{one}", "value")[:1]) for one in (2, 3)),
        store.add_experiment(project, goals=goals("g4", "value")),
        *(
            store.add_experiment(project, unit=unit, goals=goals(f"unit{place}", "value")[:2])
            for place, unit in enumerate([AttributeUnit(attribute="plan"), "user"])
        ),
    ]
    # Of visitors without an experiment, some with ids and transactions of the others.
    idle = [an_event("pageview", f"idle{number}", url="https://x.example/") for number in range(200)]
    rows = [*idle, *(row_of(fields, experiments) for fields in drawn)]
    store.write(project, *rows)
    removed = store.rollup.remove_old_events(project.id, STARTED + timedelta(days=days))
    assert removed == len(rows) - len(stored_numbers(store, project))
    assert removed >= len(idle)
    compare_all(store, rows, experiments[:2], project)
    assert store.rollup.rebuild(project.id).drifted == ()
    # Nothing has drifted: the visitors and sums of all are those that were compared before.
    compare_all(store, rows, experiments[: 2 if is_many() else 1], project)


def test_events_go_once_the_experiments_of_their_visitors_have_ended(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, *(an_exposure(experiment, one % 2, f"v{one}") for one in range(6)), a_purchase("v1"))
    store.write(project, an_event("pageview", "idle"), an_event("pageview", "late", minute=2 * 24 * 60))
    assert store.rollup.remove_old_events(project.id, LATER) == 1
    store.change(experiment, status="completed", completed_at=LATER)
    store.rollup.refresh(project.id)
    before = store.observe(experiment, project)
    assert store.rollup.remove_old_events(project.id, LATER) == 7
    assert len(stored_numbers(store, project)) == 1
    after = store.observe(experiment, project)
    assert (after.visitors.tolist(), after.conversions.tolist()) == ([3, 3], before.conversions.tolist())
    assert store.rollup.rebuild(project.id).recounted == ()
    assert store.rollup.remove_old_events(project.id, LATER) == 0


def test_final_results_without_events_stay_in_another_time_zone(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, status="completed", completed_at=LATER)
    store.write(project, *(an_exposure(experiment, one % 2, f"v{one}") for one in range(6)))
    assert store.rollup.remove_old_events(project.id, LATER) == 6
    moved = store.catalog.projects.change(
        project.account_id,
        project.id,
        lambda one: replace(one, reporting_timezone="Asia/Tokyo"),
        actor="test",
    )
    store.write(project, an_event("pageview", "new", minute=9))
    store.rollup.refresh(project.id)
    assert store.observe(experiment, moved).visitors.tolist() == [3, 3]


@pytest.mark.parametrize("same", ["event_id", "transaction_id"])
def test_an_event_stays_that_makes_another_one_a_repeat(
    store: WorkingStore, project: Project, experiment: Experiment, same: str
) -> None:
    shared: dict[str, Any] = {same: "t1"}
    first, repeat = (a_purchase(one, minute=1, **shared) for one in ("idle", "v1"))
    store.write(project, first, an_event("pageview", "idle"))
    store.write(project, *(an_exposure(experiment, one % 2, f"v{one}") for one in range(6)), repeat)
    before = store.observe(experiment, project)
    assert before.conversions.tolist() == [[0, 0]]
    assert store.rollup.remove_old_events(project.id, LATER) == 1
    assert store.rollup.rebuild(project.id).drifted == ()
    assert store.observe(experiment, project).conversions.tolist() == [[0, 0]]


def test_numbers_of_removed_events_are_not_given_again(store: WorkingStore, project: Project) -> None:
    store.write(project, an_event("pageview", "v1"), an_event("pageview", "v2"))
    last = stored_numbers(store, project)[-1]
    assert store.rollup.remove_old_events(project.id, LATER) == 2
    folder = store.settings.data_dir
    assert stored_numbers(store, project) == []
    store.ingest.stop()
    store.warehouse.checkpoint()
    assert folder.is_dir()
    with store.warehouse.cursor() as cursor:
        ((retired,),) = cursor.execute("SELECT max(seq) FROM retired_event_seqs").fetchall()
    assert retired == last


def test_people_who_were_linked_stay_linked(store: WorkingStore, project: Project) -> None:
    store.write(
        project,
        an_event("identify", "phone", user_id="ann"),
        an_event("identify", "laptop", user_id="ann", minute=1),
    )
    store.rollup.refresh(project.id)
    assert store.rollup.remove_old_events(project.id, LATER) == 2
    experiment = store.add_experiment(project)
    late = 2 * 24 * 60
    store.write(
        project,
        an_exposure(experiment, 0, "phone", minute=late),
        an_exposure(experiment, 0, "laptop", minute=late + 1),
        an_event("identify", "other", user_id="bob", minute=late),
    )
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_the_job_removes_by_the_setting_of_each_project(store: WorkingStore) -> None:
    forever, short = store.add_project(), store.add_project(settings={"retention_days": 1})
    age = (NOW - STARTED) / timedelta(minutes=1)
    for project in (forever, short):
        store.write(project, an_event("pageview", "v1"), an_event("pageview", "v2", minute=age))
    for _ in range(2):
        remove_events_beyond_retention(store)
    assert (len(stored_numbers(store, forever)), len(stored_numbers(store, short))) == (2, 1)


def test_an_export_has_the_rows_of_visitors_whose_events_are_gone(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, status="completed", completed_at=LATER)
    store.write(project, *(an_exposure(experiment, one % 2, f"v{one}") for one in range(6)))
    store.rollup.remove_old_events(project.id, LATER)
    exports = Exports(store.warehouse, store.results, store.settings)
    with exports.visitors(experiment, project, SegmentFilters(), "csv", now=NOW) as file:
        lines = file.read().decode().splitlines()
    assert len(lines) == 7
    assert lines[1].startswith(",")
