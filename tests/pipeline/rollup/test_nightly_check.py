"""Nights check what is stored, find each difference, and publish what a full count would."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.display.plain_data import plain_data
from pipeline.erasure.person_erasure import remove_from_tables
from pipeline.events.hashing import hash64
from pipeline.rollup import nightly_check
from pipeline.rollup.run import Outcome
from pipeline.rollup.whole_counts import FAULTS
from pipeline.store.warehouse import event_digests
from pipeline.store.warehouse.connection import Warehouse
from tests.builders import STARTED
from tests.examples import examples
from tests.pipeline.jobs.days_of_service import Kill, Killed
from tests.pipeline.rollup.drawn_events import EVENTS, RULES
from tests.pipeline.rollup.few_linked import a_store_of_few_linked
from tests.pipeline.rollup.measured_goals import goals, row_of
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

DAY = timedelta(days=1)
BEGIN = STARTED + 12 * DAY


@dataclass(slots=True)
class Nights:
    """A store whose clock is set by hand."""

    store: WorkingStore
    clock: list[datetime]

    def night(self, project: Project, *, later: timedelta = timedelta(hours=1)) -> Outcome:
        self.clock[0] += later
        return self.store.rollup.rebuild(project.id, at_night=True)

    def reason(self, project: Project, **options: timedelta) -> str:
        outcome = self.night(project, **options)
        assert outcome.is_checked == (outcome.whole is None)
        return outcome.whole.reason if outcome.whole else "checked"

    def answers(self, project: Project, experiments: list[Experiment]) -> list[Any]:
        """Everything that is published of the experiments, by value."""
        results, now = self.store.results, self.clock[0]
        of_now = self.store.catalog.projects.find(project.id)
        return [
            plain_data((results.report(one, of_now, now=now), results.available_segments(one)))
            for one in experiments
        ]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    clock = [BEGIN]
    with a_store_of_few_linked(tmp_path_factory.mktemp("store"), clock=lambda: clock[0]) as store:
        yield Nights(store, clock)


def idle(experiment: Experiment, count: int = 200) -> list[Any]:
    """Most visitors never come back: where everybody is touched, counting anew is quicker."""
    return [an_exposure(experiment, number % 2, f"idle{number}") for number in range(count)]


@pytest.fixture
def project(nights: Nights) -> Project:
    return nights.store.add_project()


@pytest.fixture
def experiment(nights: Nights, project: Project) -> Experiment:
    return counted(nights, project)


@pytest.fixture(scope="module")
def mended(nights: Nights) -> tuple[Project, Experiment]:
    """What each fault leaves as it should be."""
    project = nights.store.add_project()
    return project, counted(nights, project)


def counted(nights: Nights, project: Project) -> Experiment:
    """Add an experiment, which was counted whole in a first night, and checked in a second."""
    experiment = nights.store.add_experiment(project)
    orders = [a_purchase(f"idle{number}", minute=number, transaction_id=f"t{number}") for number in range(40)]
    nights.store.write(project, *idle(experiment), *orders)
    assert nights.reason(project) == "first"
    assert nights.reason(project) == "checked"
    return experiment


OPERATIONS = st.lists(
    st.sampled_from(["nothing", "erase v1", "erase u1", "remove old events", "rates", "zone", "a week"]),
    min_size=2,
    max_size=3,
)


@examples(1, 12, seconds=60)
@given(EVENTS, RULES, OPERATIONS)
def test_a_night_publishes_what_a_full_count_would(
    nights: Nights, drawn: list[dict[str, Any]], rules: dict[str, Any], operations: list[str]
) -> None:
    store = nights.store
    project = store.add_project(reporting_timezone="America/New_York", settings=rules)
    experiments = [
        store.add_experiment(project, goals=goals("g0", "tax/net")),
        store.add_experiment(
            project,
            weights=(1, 1, 1),
            goals=goals("g1", "value", cap_percentile=80, per="order"),
            statistics=Statistics(cuped=True, pre_period_days=3),
        ),
        store.add_experiment(project, unit="user", goals=goals("g2", "value")[:2]),
    ]
    store.write(project, *idle(experiments[0]))
    # Of seven experiments, which are three here.
    rows = [row_of(fields, experiments * 3) for fields in drawn]
    size = -(-len(rows) // len(operations))
    for number, operation in enumerate(operations):
        store.write(project, *rows[number * size : (number + 1) * size])
        carry_out(nights, project, operation)
        outcome = nights.night(project, later=8 * DAY if operation == "a week" else timedelta(hours=1))
        assert outcome.drifted == ()
        assert outcome.is_checked or (outcome.whole and outcome.whole.reason not in FAULTS)
    assert nights.reason(project) == "checked"
    published = nights.answers(project, experiments)
    assert store.rollup.rebuild(project.id).drifted == ()
    assert nights.answers(project, experiments) == published


def carry_out(nights: Nights, project: Project, operation: str) -> None:
    store = nights.store
    if operation.startswith("erase"):
        name = operation.removeprefix("erase ")
        store.rollup.erase(
            project.id,
            hash64(name),
            is_user=name.startswith("u"),
            keep_out=lambda _: None,
            remove=remove_from_tables,
        )
    elif operation == "remove old events":
        store.rollup.remove_old_events(project.id, STARTED + 4 * DAY)
    elif operation in {"rates", "zone"}:
        changes: dict[str, Any] = {"reporting_timezone": "Asia/Tokyo"}
        store.catalog.projects.change(
            project.account_id,
            project.id,
            lambda one: (
                replace(one, **changes)
                if operation == "zone"
                else replace(one, settings={**one.settings, "exchange_rates": {"GBP": 1.3}})
            ),
            actor="test",
        )


def test_a_night_counts_the_events_that_are_new(
    nights: Nights, project: Project, experiment: Experiment
) -> None:
    # One of them is an order that comes late, of an earlier visitor.
    nights.store.write(
        project, an_exposure(experiment, 1, "new"), a_purchase("idle50", minute=3, transaction_id="late")
    )
    outcome = nights.night(project)
    assert (outcome.is_checked, outcome.updated) == (True, (experiment.id,))
    assert nights.store.observe(experiment, project).visitors.tolist() == [100, 101]
    assert nights.store.observe(experiment, project).conversions.tolist() == [[21, 20]]


def in_shares(*values: object) -> Any:
    """Leave a case to the shares of long tests, beside which one of its kind is always tested."""
    return pytest.param(*values, marks=pytest.mark.long(seconds=2))


def damage(nights: Nights, project: Project, experiment: Experiment, statement: str) -> None:
    """Change the tables of a project and an experiment by hand."""
    tables = {kind: f'"{kind}_{experiment.id}"' for kind in ("visitors", "aggregates")}
    with nights.store.warehouse.transaction() as cursor:
        cursor.execute(statement.format(events=f'"events_{project.id}"', **tables))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("DELETE FROM {events} WHERE seq = (SELECT min(seq) FROM {events})", "events"),
        in_shares("INSERT INTO {events} FROM {events} LIMIT 1", "events"),
        ("INSERT INTO {events} SELECT e.* FROM (FROM {events} LIMIT 1) e, range(2)", "events"),
        ("UPDATE {events} SET revenue_cents = 7 WHERE transaction_id = 't3'", "events"),
        in_shares("UPDATE {events} SET url = 'x' WHERE visitor_id = 'idle9'", "events"),
        in_shares("DELETE FROM {visitors} WHERE rowid = 7", "sums"),
        ("UPDATE {visitors} SET variant = 1 - variant WHERE rowid = 7", "sums"),
        ("UPDATE {aggregates} SET visitors = visitors + 1 WHERE rowid = 0", "sums"),
        in_shares("DELETE FROM {aggregates} WHERE rowid = 1", "sums"),
        in_shares("DELETE FROM {events} WHERE seq = (SELECT max(seq) FROM {events})", "events"),
        in_shares("UPDATE {events} SET variant_id = 'x' WHERE visitor_id = 'idle9'", "events"),
        in_shares("UPDATE {events} SET visitor_id = NULL WHERE visitor_id = 'idle9'", "events"),
        in_shares("INSERT INTO {visitors} FROM {visitors} LIMIT 1", "sums"),
        in_shares("UPDATE {visitors} SET g0_day = g0_day + 1 WHERE g0_at IS NOT NULL", "sums"),
        in_shares("UPDATE {aggregates} SET conversions = conversions + 1 WHERE rowid = 3", "sums"),
    ],
)
def test_a_fault_is_found_at_once_and_mended(
    nights: Nights, mended: tuple[Project, Experiment], fault: str, reason: str
) -> None:
    project, experiment = mended
    damage(nights, project, experiment, fault)
    outcome = nights.night(project)
    assert outcome.whole is not None
    assert outcome.whole.reason == reason
    assert outcome.whole.where == (STARTED.date().isoformat() if reason == "events" else experiment.id,)
    if reason == "sums":
        assert outcome.drifted == (experiment.id,)
    assert nights.reason(project) == "checked"
    assert nights.store.rollup.rebuild(project.id, [experiment.id]).drifted == ()


@pytest.mark.parametrize("parts", [8, in_shares(nightly_check.PARTS)])
def test_a_fault_of_one_visitor_that_no_sum_has_is_found_while_all_parts_have_their_turn(
    nights: Nights, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    monkeypatch.setattr(nightly_check, "PARTS", parts)
    damage(nights, project, experiment, "UPDATE {visitors} SET address_key = 1 WHERE rowid = 7")
    found = [nights.reason(project, later=timedelta(minutes=1)) for _ in range(parts)]
    assert sorted(found) == ["checked"] * (parts - 1) + ["visitors"]


def test_a_visitor_who_changed_since_the_last_night_is_counted_from_the_events(
    nights: Nights, project: Project, experiment: Experiment
) -> None:
    nights.store.write(project, a_purchase("idle50", minute=3, cents=777))
    nights.store.rollup.refresh(project.id)
    damage(nights, project, experiment, "UPDATE {visitors} SET address_key = 1 WHERE g0_cents = 777")
    assert nights.reason(project) == "visitors"


CHANGES: dict[str, dict[str, Any]] = {
    "time_zone": {"reporting_timezone": "Asia/Tokyo"},
    "exchange_rates": {"settings": {"exchange_rates": {"EUR": 1.1}}},
    "rules": {"settings": {"attribution_window_days": 2}},
}


@pytest.mark.parametrize("reason", CHANGES)
def test_other_rules_count_everything(
    nights: Nights, project: Project, experiment: Experiment, reason: str
) -> None:
    nights.store.catalog.projects.change(
        project.account_id, project.id, lambda one: replace(one, **CHANGES[reason]), actor="test"
    )
    assert [nights.reason(project) for _ in range(2)] == [reason, "checked"]
    assert nights.store.rollup.refresh(project.id).recounted == ()


def test_every_seventh_night_counts_everything(
    nights: Nights, project: Project, experiment: Experiment
) -> None:
    # The first night was an hour before the one that checked.
    assert [nights.reason(project, later=DAY) for _ in range(8)] == [*["checked"] * 6, "week", "checked"]
    nights.clock[0] -= 3 * DAY
    assert nights.reason(project) == "week"


def test_another_version_of_the_digests_or_rules_counts_everything(
    nights: Nights, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_digests, "FORM", "of a later version")
    nights.store.write(project, a_purchase("idle50", minute=3))
    assert [nights.reason(project) for _ in range(2)] == ["version", "checked"]
    monkeypatch.setattr(nightly_check, "RULES_VERSION", 1000)
    assert [nights.reason(project) for _ in range(2)] == ["version", "checked"]


def test_a_full_count_that_was_asked_for_says_so_and_is_continued_from(
    nights: Nights, project: Project, experiment: Experiment
) -> None:
    nights.clock[0] += 6 * DAY
    asked = nights.store.rollup.rebuild(project.id)
    assert asked.whole is not None
    assert str(asked.whole) == "it was asked for"
    assert nights.reason(project, later=3 * DAY) == "checked"
    # That of chosen experiments is not of all.
    assert nights.store.rollup.rebuild(project.id, [experiment.id]).recounted == (experiment.id,)
    assert nights.reason(project, later=4 * DAY) == "week"


def test_most_visitors_have_changed(nights: Nights, project: Project, experiment: Experiment) -> None:
    nights.store.write(project, *(a_purchase(f"idle{number}", minute=5) for number in range(120)))
    assert nights.reason(project) == "changes"


def test_a_project_without_events_or_experiments_has_nights(nights: Nights, project: Project) -> None:
    assert [nights.reason(project) for _ in range(2)] == ["first", "checked"]
    nights.store.write(project, an_event("pageview", url="https://x.example/"))
    assert nights.reason(project) == "checked"
    damage(nights, project, nights.store.add_experiment(project), "DELETE FROM {events}")
    assert nights.reason(project) == "events"


@pytest.mark.parametrize("step", [1, 8, *(in_shares(step) for step in range(2, 8))])
def test_a_night_that_is_killed_between_its_steps_is_made_up_for_by_the_next(
    nights: Nights, mended: tuple[Project, Experiment], monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    project, experiment = mended
    nights.store.write(project, a_purchase("idle50", minute=3))
    damage(nights, project, experiment, f"DELETE FROM {{events}} WHERE visitor_id = 'idle{100 + step}'")  # noqa: S608
    kill = Kill()
    with monkeypatch.context() as patched:
        kill.install(patched, Warehouse, "transaction")
        # After one of the transactions.
        kill.writes_left = 2 * step
        with pytest.raises(Killed):
            nights.night(project)
    # The last one notes that everything was counted.
    assert nights.reason(project) == ("events" if step < 8 else "checked")
    assert nights.reason(project) == "checked"
    published = nights.answers(project, [experiment])
    assert nights.store.rollup.rebuild(project.id).drifted == ()
    assert nights.answers(project, [experiment]) == published
