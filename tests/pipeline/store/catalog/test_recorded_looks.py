from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from engine.analysis.evidence.recorded_looks import RecordedComparison, RecordedLook, RecordedPlan
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import recorded_looks
from pipeline.store.documents import document_of
from tests.builders import STARTED, an_experiment

DAY = timedelta(days=1)


@pytest.fixture
def experiment_id(catalog: Catalog, project_id: str) -> str:
    experiment = an_experiment(id=new_id("exp"), project_id=project_id)
    return catalog.experiments.create(project_id, lambda _: experiment, actor="test").id


def a_look(day: float, *, is_at_plan: bool = False, **findings: Any) -> RecordedLook:
    """Build a look on a running day; `findings` are those of the treatment on the only goal."""
    moments: dict[str, Any] = {"n": 1000, "mean": 0.1, "m2": 90.0, "m3": 72.0}
    return RecordedLook(
        taken_at=STARTED + day * DAY,
        is_at_plan=is_at_plan,
        running_days=day,
        visitors=2000,
        plan=RecordedPlan(
            source="blinded",
            required_visitors=28_000,
            tuned_to=28_000.0,
            mean=0.1,
            variance=0.09,
            minimum_effect=0.1,
            detectable_effect=0.1 / 3,
            equivalence_margins={"goal_1": 0.1},
            alpha=0.05,
            variants=2,
        ),
        comparisons={
            "goal_1": {
                "var_0": RecordedComparison(**moments),
                "var_1": RecordedComparison(**moments, z=-0.1, log_p=-0.08, **findings),
            }
        },
        recommendation="keep_running",
    )


def test_look_is_read_back_to_the_last_bit(catalog: Catalog, experiment_id: str) -> None:
    assert catalog.recorded_looks.of(experiment_id) == ()
    looks = (a_look(1.25), a_look(2 + 1 / 3, loses=True))
    for look in reversed(looks):
        catalog.recorded_looks.add(experiment_id, look)
    # Of the second day on, as it came first.
    assert catalog.recorded_looks.of(experiment_id) == looks[1:]


def test_last_look_and_the_one_at_the_plan_tell_all(catalog: Catalog, experiment_id: str) -> None:
    looks = [a_look(float(day), is_at_plan=day == 3) for day in range(1, 6)]
    assert all(catalog.recorded_looks.add(experiment_id, look) for look in looks)
    assert catalog.recorded_looks.of(experiment_id) == (looks[2], looks[4])


def test_last_look_before_the_plan_stays_beside_the_one_there(catalog: Catalog, experiment_id: str) -> None:
    looks = (a_look(1.0), a_look(2.0, wins=True), a_look(3.0, is_at_plan=True, wins=True))
    assert all(catalog.recorded_looks.add(experiment_id, look) for look in looks)
    assert catalog.recorded_looks.of(experiment_id) == looks[1:]


def test_look_without_what_another_one_established_is_not_added(catalog: Catalog, experiment_id: str) -> None:
    assert catalog.recorded_looks.add(experiment_id, a_look(1.5, loses=True))
    assert not catalog.recorded_looks.add(experiment_id, a_look(2.0))
    assert catalog.recorded_looks.add(experiment_id, a_look(2.0, loses=True))


def test_plan_has_one_look_and_the_first_stays(catalog: Catalog, experiment_id: str) -> None:
    first, second = a_look(8.0, is_at_plan=True, wins=True), a_look(9.0, is_at_plan=True)
    assert catalog.recorded_looks.add(experiment_id, first)
    assert not catalog.recorded_looks.add(experiment_id, second)
    assert catalog.recorded_looks.of(experiment_id) == (first,)


def test_database_itself_refuses_a_second_look_at_the_plan(catalog: Catalog, experiment_id: str) -> None:
    look = a_look(8.0, is_at_plan=True)
    row = {
        "experiment_id": experiment_id,
        "taken_at": look.taken_at,
        "is_at_plan": True,
        "document": document_of(look),
    }
    with catalog.database.write() as connection:
        connection.execute(recorded_looks.insert().values(id="look_1", **row))
    with pytest.raises(IntegrityError), catalog.database.write() as connection:
        connection.execute(recorded_looks.insert().values(id="look_2", **row))


def test_running_day_has_one_look_unless_there_is_news(catalog: Catalog, experiment_id: str) -> None:
    added = [
        catalog.recorded_looks.add(experiment_id, look)
        for look in (
            a_look(1.1),
            a_look(1.2),
            a_look(1.3, loses=True),
            a_look(1.4, loses=True),
            a_look(1.5, loses=True, is_broken=True),
            a_look(2.0, loses=True, is_broken=True),
        )
    ]
    assert added == [True, False, True, False, True, True]


@pytest.mark.long(seconds=3)
def test_of_looks_at_once_at_the_plan_one_is_recorded(settings: Settings, experiment_id: str) -> None:
    catalogs = [Catalog.open(settings) for _ in range(4)]
    looks = [a_look(8.0 + number / 8, is_at_plan=True) for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        added = list(
            threads.map(
                lambda one: one[0].recorded_looks.add(experiment_id, one[1]),
                zip(catalogs, looks, strict=True),
            )
        )
    assert sorted(added) == [False, False, False, True]
    assert catalogs[0].recorded_looks.of(experiment_id) == (looks[added.index(True)],)
    for catalog in catalogs:
        catalog.close()


def test_last_times_are_of_every_experiment_with_looks(catalog: Catalog, experiment_id: str) -> None:
    assert catalog.recorded_looks.last_times() == {}
    catalog.recorded_looks.add(experiment_id, a_look(1.0))
    catalog.recorded_looks.add(experiment_id, a_look(2.0))
    assert catalog.recorded_looks.last_times() == {experiment_id: STARTED + 2 * DAY}
    assert catalog.recorded_looks.times(experiment_id) == [STARTED + DAY, STARTED + 2 * DAY]
    assert catalog.recorded_looks.times("exp_of_another") == []


def test_looks_go_with_their_experiment(catalog: Catalog, project_id: str, experiment_id: str) -> None:
    catalog.recorded_looks.add(experiment_id, a_look(8.0, is_at_plan=True))
    catalog.experiments.delete(project_id, experiment_id, lambda one: one, actor="test")
    assert catalog.recorded_looks.of(experiment_id) == ()


def test_look_at_an_unknown_experiment_is_refused(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        catalog.recorded_looks.add("exp_unknown", a_look(1.0))
