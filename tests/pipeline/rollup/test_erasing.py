"""Erasure of a person: results are those of the other events, and hold at the next rebuild."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import AttributeUnit
from pipeline.erasure import person_erasure
from pipeline.erasure.person_erasure import remove_from_tables
from pipeline.events.hashing import hash64
from pipeline.rollup import erasing
from pipeline.store.warehouse import aggregates, stored_visitors, visitors
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from pipeline.store.warehouse.events import table_name
from tests.builders import STARTED, a_goal
from tests.examples import examples
from tests.pipeline.rollup.drawn_events import EVENTS, RULES
from tests.pipeline.rollup.few_linked import a_store_of_few_linked
from tests.pipeline.rollup.measured_goals import goals, row_of
from tests.pipeline.rollup.naive_comparison import compare_all
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure


@pytest.fixture(scope="module")
def few_linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_store_of_few_linked(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def stored_numbers(store: WorkingStore, project: Project) -> list[int]:
    with store.warehouse.cursor() as cursor:
        return sorted(seq for (seq,) in cursor.table(f'"{table_name(project.id)}"').project("seq").fetchall())


ERASED = st.lists(st.tuples(st.sampled_from(["v1", "v2", "v3", "u1"]), st.booleans()), min_size=1, max_size=2)


@examples(1, 6, seconds=60)
@given(EVENTS, RULES, ERASED)
def test_results_are_those_of_the_other_events(
    few_linked: WorkingStore,
    drawn: list[dict[str, Any]],
    rules: dict[str, Any],
    erased: list[tuple[str, bool]],
) -> None:
    check(few_linked, drawn, rules, erased)


def check(
    store: WorkingStore, drawn: list[dict[str, Any]], rules: dict[str, Any], erased: list[tuple[str, bool]]
) -> None:
    """Erase visitors and users of drawn events, and compare with a naive count of the others."""
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
    # Most visitors are not concerned: else everybody is, and counting anew is quicker.
    idle = [an_exposure(experiments[0], number % 2, f"idle{number}") for number in range(200)]
    rows = [*idle, *(row_of(fields, experiments) for fields in drawn)]
    store.write(project, *rows)
    first = stored_numbers(store, project)[0]
    store.rollup.refresh(project.id)
    left = rows
    for name, is_user in erased:
        store.rollup.erase(
            project.id, hash64(name), is_user=is_user, keep_out=lambda _: None, remove=remove_from_tables
        )
        left = [rows[number - first] for number in stored_numbers(store, project)]
        assert name not in {row.user_id if is_user else row.visitor_id for row in left}
        compare_all(store, left, experiments[:2], project)
    assert store.rollup.rebuild(project.id).drifted == ()
    compare_all(store, left, experiments, project)


def erase(store: WorkingStore, project: Project, name: str, *, is_user: bool = False) -> ErasedPerson:
    erased = store.rollup.erase(
        project.id, hash64(name), is_user=is_user, keep_out=lambda _: None, remove=remove_from_tables
    )
    assert erased is not None
    return erased


def test_all_devices_of_a_user_are_one_person(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment, 0, "phone", user_id="ann"),
        an_exposure(experiment, 0, "laptop", user_id="ann"),
        a_purchase(None, user_id="ann"),
        an_exposure(experiment, 1, "other"),
    )
    erased = erase(store, project, "laptop")
    assert (len(erased.person.visitor_keys), len(erased.person.user_keys), erased.events) == (2, 1, 3)
    assert store.observe(experiment, project).visitors.tolist() == [0, 1]
    assert len(stored_numbers(store, project)) == 1


def test_an_order_that_only_repeated_one_of_the_person_counts_now(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, goals=(a_goal(goal_type="revenue", config={}),))
    store.write(
        project,
        *(an_exposure(experiment, number % 2, f"v{number}") for number in range(20)),
        a_purchase("v0", transaction_id="t1"),
        a_purchase("v1", minute=1, transaction_id="t1"),
    )
    assert store.observe(experiment, project).conversions.ravel().tolist() == [1, 0]
    assert erase(store, project, "v0").recounted == (experiment.id,)
    assert store.observe(experiment, project).conversions.ravel().tolist() == [0, 1]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_completed_experiments_keep_their_numbers_but_no_row_of_the_person(
    store: WorkingStore, project: Project
) -> None:
    ended = STARTED + timedelta(days=1)
    experiment = store.add_experiment(project, status="completed", completed_at=ended)
    store.write(project, *(an_exposure(experiment, number % 2, f"v{number}") for number in range(20)))
    store.rollup.refresh(project.id)
    assert erase(store, project, "v3").sums_kept == (experiment.id,)
    assert store.observe(experiment, project).visitors.tolist() == [10, 10]
    with store.warehouse.cursor() as cursor:
        rows, _ = stored_visitors.read_of(cursor, [experiment.id], pl.Series([hash64("v3")], dtype=pl.UInt64))
    assert rows.is_empty()
    assert store.rollup.rebuild(project.id).recounted == ()


def test_a_visitor_who_returns_is_a_new_one(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, 0), a_purchase(), an_exposure(experiment, 1, "other"))
    erase(store, project, "v1")
    store.write(project, an_exposure(experiment, 1, minute=9))
    assert store.observe(experiment, project).visitors.tolist() == [0, 2]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_who_is_not_there_changes_nothing(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    assert (
        store.rollup.erase(project.id, 1, is_user=False, keep_out=lambda _: None, remove=remove_from_tables)
        is None
    )
    store.write(project, an_exposure(experiment, 0), an_event("identify", "v2", user_id="u2"))
    for is_user in (False, True):
        assert erase(store, project, "nobody", is_user=is_user).events == 0
    assert len(stored_numbers(store, project)) == 2


def test_texts_of_segments_that_nobody_has_any_more_are_gone(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment, 0, custom='{"mail":"ann@x.example"}', region="Faraway"),
        *(an_exposure(experiment, number % 2, f"w{number}", region="Near") for number in range(20)),
    )
    store.rollup.refresh(project.id)
    person_erasure.erase(store, project, "v1", id_type="visitor", actor="test")
    with store.warehouse.cursor() as cursor:
        texts = [visitors.read_values(cursor, experiment.id)["value"].to_list()]
        texts.append(aggregates.read_all(cursor, experiment.id)["value"].to_list())
    assert "ann@x.example" not in str(texts)
    assert "Faraway" not in str(texts)
    assert "Near" in str(texts)
    # The text is told from the one it had, and from all others.
    store.write(
        project, an_exposure(experiment, 0, "v9", custom='{"mail":"ann@x.example"}', region="Faraway")
    )
    assert store.observe(experiment, project, {"region": "Faraway"}).visitors.tolist() == [1, 0]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_an_erasure_that_ends_halfway_is_made_up_for_by_the_next_run(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(project, *(an_exposure(experiment, number % 2, f"v{number}") for number in range(20)))
    with monkeypatch.context() as patched:
        patched.setattr(erasing, "count_group", fail)
        with pytest.raises(RuntimeError):
            store.rollup.erase(
                project.id, hash64("v3"), is_user=False, keep_out=lambda _: None, remove=remove_from_tables
            )
    assert store.rollup.refresh(project.id).recounted == (experiment.id,)
    assert store.observe(experiment, project).visitors.tolist() == [10, 9]


def fail(*_: Any) -> None:
    raise RuntimeError
