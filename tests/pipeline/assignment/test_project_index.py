"""The index that is fed and kept in files equals what the stored events say, whatever happens in between."""

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engine.design.project import Project
from pipeline.assignment import pair_table, project_index
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.link_index import UserClaim
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events
from pipeline.store.warehouse.visitor_history import AssignmentRule
from tests.builders import STARTED
from tests.examples import examples
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event

STARTED_US = int(STARTED.timestamp() * 1_000_000)
RULES = tuple(AssignmentRule(f"exp_{number}", STARTED_US, ("var_0", "var_1")) for number in range(3))
VISITORS, USERS = [f"v{number}" for number in range(5)], [f"u{number}" for number in range(3)]

a_row = st.builds(
    an_event,
    st.sampled_from(["assignment", "exposure", "exposure", "pageview", "identify"]),
    st.sampled_from(VISITORS),
    minute=st.sampled_from([-1, 0, 1]),
    experiment_id=st.sampled_from(["exp_0", "exp_1", "exp_2", "exp_9", None]),
    variant_id=st.sampled_from(["var_0", "var_1", "var_1", "var_9", None]),
    not_counted=st.sampled_from([None, None, None, "experiment_paused"]),
    user_id=st.sampled_from([None, None, *USERS]),
    sender=st.sampled_from(["browser", "server", "import"]),
)
batches = st.lists(a_row, min_size=1, max_size=6)
STEPS = st.lists(
    st.tuples(st.just("submit"), batches)
    | st.tuples(st.just("write_now"), batches)
    | st.tuples(st.just("look_up"), st.integers(0, 3))
    | st.sampled_from([("keep", None), ("stop", None), ("kill", None), ("merge", None)]),
    max_size=12,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@dataclass
class Run:
    """One project, its events in order, and the assignments that are kept of them."""

    store: WorkingStore
    project: Project
    known: FirstAssignments
    rows: list[EventRow] = field(default_factory=list)

    @classmethod
    def of(cls, store: WorkingStore) -> "Run":
        return cls(
            store, store.add_project(), FirstAssignments(store.warehouse, store.ingest, store.settings)
        )

    def take(self, step: str, detail: Any) -> None:
        if step == "submit":
            asyncio.run(self.store.ingest.submit(self.project.id, detail))
            self.rows += detail
        elif step == "write_now":
            self.store.write(self.project, *detail)
            self.rows += detail
        elif step == "look_up":
            self.require_equal(RULES[:detail])
        elif step == "keep":
            self.known.write()
        else:
            self.begin_anew(step)

    def begin_anew(self, step: str) -> None:
        if step != "kill":
            self.known.close()
        self.known = FirstAssignments(self.store.warehouse, self.store.ingest, self.store.settings)
        if step == "merge":
            self.known.open_saved(60)

    def require_equal(self, rules: Sequence[AssignmentRule]) -> None:
        """Compare with the rules read event by event, and with an index read from the store alone."""
        folder = self.store.settings.data_dir / "anew"
        shutil.rmtree(folder, ignore_errors=True)
        anew = FirstAssignments(
            self.store.warehouse,
            self.store.ingest,
            self.store.settings.model_copy(update={"data_dir": folder}),
        )
        claims = [
            None,
            *(UserClaim(hash64(user), is_trusted=trusted) for user in USERS for trusted in (True, False)),
        ]
        for visitor in VISITORS:
            key = hash64(visitor)
            for claim in claims:
                found = self.known.of_visitor(self.project.id, rules, key, claim)
                assert found == anew.of_visitor(self.project.id, rules, key, claim)
            own = naive_firsts(self.rows, rules, key)
            alone = self.known.of_visitor(self.project.id, rules, key)
            for experiment_id, variant_id in own.items():
                assert experiment_id in alone.variant_ids
                if not any(row.user_id and row.visitor_key == key for row in self.rows):
                    assert alone.variant_ids[experiment_id] == variant_id
            for rule in rules:
                assert self.known.is_exposed(self.project.id, rule, key) == naive_exposed(
                    self.rows, rule, key
                )
        anew.close()


def counts(row: EventRow, rule: AssignmentRule, visitor_key: int) -> bool:
    return (
        row.visitor_key == visitor_key
        and row.experiment_id == rule.experiment_id
        and row.variant_id in rule.variant_ids
        and row.received_at >= rule.started_us
        and row.not_counted is None
        and row.type in {"assignment", "exposure"}
    )


def naive_firsts(
    rows: Sequence[EventRow], rules: Sequence[AssignmentRule], visitor_key: int
) -> Mapping[str, str | None]:
    firsts: dict[str, str | None] = {}
    for row in rows:
        for rule in rules:
            if counts(row, rule, visitor_key):
                firsts.setdefault(rule.experiment_id, row.variant_id)
    return firsts


def naive_exposed(rows: Sequence[EventRow], rule: AssignmentRule, visitor_key: int) -> bool:
    return any(counts(row, rule, visitor_key) and row.type == "exposure" for row in rows)


@examples(10, 300, allowed=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_what_is_kept_equals_what_is_stored(
    store: WorkingStore, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, Any]]
) -> None:
    # Small enough that pairs are sorted, merged and read in parts all the time.
    monkeypatch.setattr(pair_table, "MAX_RECENT", 4)
    monkeypatch.setattr(pair_table, "MIN_MERGED", 3)
    monkeypatch.setattr(project_index, "EVENTS_AT_ONCE", 5)
    run = Run.of(store)
    for step, detail in steps:
        run.take(step, detail)
    run.require_equal(RULES)
    run.known.close()


def stored_index(store: WorkingStore, project: Project, rows: Sequence[EventRow]) -> None:
    """Store rows, and the files of an index that holds them."""
    store.write(project, *rows)
    known = FirstAssignments(store.warehouse, store.ingest, store.settings)
    known.of_visitor(project.id, RULES, 1)
    known.close()


def variant_of(known: FirstAssignments, project: Project, visitor: str) -> str | None:
    return known.of_visitor(project.id, RULES[:1], hash64(visitor)).variant_ids.get("exp_0")


def an_exposure(visitor: str, variant_id: str = "var_0") -> EventRow:
    return an_event("exposure", visitor, experiment_id="exp_0", variant_id=variant_id)


def test_a_start_reads_only_newer_events(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        stored_index(store, project, [an_exposure("v1", "var_1"), an_exposure("v2")])
        # What the files hold is not read again, so that it may be gone; the last one proves that they fit.
        with store.warehouse.transaction() as cursor:
            cursor.execute(f'DELETE FROM "{events.table_name(project.id)}" WHERE seq = 1')  # noqa: S608
        store.write(project, an_exposure("v3", "var_1"))
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        known.open_saved(60)
        assert known.is_ready(project.id, RULES)
        assert [variant_of(known, project, f"v{number}") for number in (1, 2, 3)] == [
            "var_1",
            "var_0",
            "var_1",
        ]
        known.close()


def test_files_that_are_newer_than_the_store_are_not_used(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        store.write(project, an_exposure("v1", "var_1"))
        stored_index(store, project, [an_exposure("v2")])
        # An older copy of the store was restored, and got another event since, under the same number.
        with store.warehouse.transaction() as cursor:
            table = events.table_name(project.id)
            cursor.execute(f'DELETE FROM "{table}" WHERE seq = 2')  # noqa: S608
            other = events.number_events(events.to_batch([an_exposure("v3")]), 2)
            events.append(cursor, project.id, other)
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        known.open_saved(60)
        assert [variant_of(known, project, f"v{number}") for number in (1, 2, 3)] == ["var_1", None, "var_0"]
        known.close()


def test_the_larger_file_is_used_where_the_smaller_one_is_newer_than_the_store(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        stored_index(store, project, [an_exposure("v1", "var_1")])
        stored_index(store, project, [an_exposure("v2")])
        assert (store.settings.assignments_path / f"{project.id}.delta.npz").exists()
        with store.warehouse.transaction() as cursor:
            cursor.execute(f'DELETE FROM "{events.table_name(project.id)}" WHERE seq = 2')  # noqa: S608
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        assert [variant_of(known, project, f"v{number}") for number in (1, 2)] == ["var_1", None]
        known.close()


def test_assignments_in_ended_experiments_leave_memory_and_files(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        known.of_visitor(project.id, RULES, 1)
        rows = [replace_experiment(an_exposure("v1"), rule) for rule in RULES]
        asyncio.run(store.ingest.submit(project.id, rows))
        known.write()
        path = store.settings.assignments_path / f"{project.id}.base.npz"
        before = path.stat().st_size
        assert known.of_visitor(project.id, RULES[:1], hash64("v1")).variant_ids == {"exp_0": "var_0"}
        for _ in range(2):
            asyncio.run(store.ingest.submit(project.id, [an_event("pageview")]))
            known.write()
        assert path.stat().st_size < before
        # One that is looked up again is read from its events.
        assert len(known.of_visitor(project.id, RULES, hash64("v1")).variant_ids) == 3
        known.close()


def replace_experiment(row: EventRow, rule: AssignmentRule) -> EventRow:
    return row._replace(experiment_id=rule.experiment_id)


def test_a_rule_of_another_start_is_another_rule(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        stored_index(store, project, [an_exposure("v1")])
        later = replace(RULES[0], started_us=STARTED_US + 1)
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        assert known.of_visitor(project.id, [later], hash64("v1")).variant_ids == {}
        known.close()
