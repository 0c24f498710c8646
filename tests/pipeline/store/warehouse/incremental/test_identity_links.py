from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.project import Project
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events, identities
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.identities import Identities
from pipeline.store.warehouse.incremental import identity_links
from tests.examples import examples
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure

MINUTES = range(6)
# Users who are few enough to share visitors, and a user id that a server uses as a visitor id, too.
EVENTS = st.lists(
    st.builds(
        lambda visitor, minute, **fields: an_event("identify", visitor, minute=minute, **fields),
        st.sampled_from(["v1", "v2", "v3", "v4", "v5", "u1"]),
        st.sampled_from(MINUTES),
        user_id=st.sampled_from([None, "u1", "u1", "u2", "u3"]),
        sender=st.sampled_from(["browser", "browser", "server", None]),
    ),
    min_size=1,
    max_size=40,
)
CUTS = st.lists(st.integers(0, 40), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with (
        a_working_store(tmp_path_factory.mktemp("store")) as opened,
        pytest.MonkeyPatch.context() as patched,
    ):
        # Few enough that some user ids are placeholders.
        patched.setattr(identities, "MAX_VISITORS_OF_USER", 2)
        yield opened


def naive_links(rows: list[EventRow], first_seq: int, received_until: int) -> set[tuple[Any, ...]]:
    """List the first event of each link: visitor, user, whether trusted, whether of one id, number."""
    firsts: dict[tuple[Any, ...], int] = {}
    in_time = [
        (seq, row) for seq, row in enumerate(rows, start=first_seq) if row.received_at <= received_until
    ]
    users = {row.user_key for _, row in in_time if row.user_key is not None}
    for seq, row in in_time:
        is_trusted = row.sender in {"server", "import"}
        if row.user_key is not None:
            firsts.setdefault((row.visitor_key, row.user_key, is_trusted, False), seq)
        if is_trusted and row.visitor_key in users:
            firsts.setdefault((row.visitor_key, row.visitor_key, True, True), seq)
    return {(*link, seq) for link, seq in firsts.items()}


def kept_links(cursor: Cursor, project: Project, received_until: int) -> set[tuple[Any, ...]]:
    kept = identity_links.links_table(project.id)
    rows = cursor.execute(
        f"""
        SELECT visitor_key, user_key, is_trusted, is_same_id, min(seq) FROM {kept}
        WHERE received_at <= ? GROUP BY ALL
        """,  # noqa: S608 (a name of ours)
        [received_until],
    ).fetchall()
    users = {user for _, user, _, is_same_id, _ in rows if not is_same_id}
    return {row for row in rows if not row[3] or row[1] in users}


@examples(10, 50, seconds=5)
@given(EVENTS, CUTS)
def test_links_added_by_and_by_are_those_of_all_events(
    store: WorkingStore, rows: list[EventRow], cuts: list[int]
) -> None:
    project = store.add_project()
    edges = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    for start, end in pairwise(edges):
        if start == end:
            continue
        store.write(project, *rows[start:end])
        newest = store.ingest.last_seq_of(project.id)
        with store.warehouse.transaction() as cursor:
            identity_links.update(cursor, project.id, newest, anew=False)
    first_seq = store.ingest.last_seq_of(project.id) - len(rows) + 1
    assert rows
    with store.warehouse.transaction() as cursor:
        for received_until in {row.received_at for row in rows}:
            assert kept_links(cursor, project, received_until) == naive_links(rows, first_seq, received_until)


@examples(15, 50, seconds=12)
@given(EVENTS, st.integers(0, 40))
def test_persons_near_new_events_are_those_among_all(
    store: WorkingStore, rows: list[EventRow], cut: int
) -> None:
    project = store.add_project()
    store.write(project, *rows)
    newest = store.ingest.last_seq_of(project.id)
    covered = newest - len(rows) + cut % len(rows)
    with store.warehouse.transaction() as cursor:
        identity_links.update(cursor, project.id, newest, anew=True)
        found = Identities(cursor, project.id, until=newest, received_until=2**62)
        if not found.exist:
            return
        stored = events.table_name(project.id)
        cursor.execute(f'CREATE OR REPLACE TEMP TABLE new AS FROM "{stored}" WHERE seq > {covered:d}')
        found.join_near(
            "SELECT unnest([visitor_key, coalesce(user_key, visitor_key)]) AS key FROM new", covered
        )
        near = touched(cursor, found, covered)
        found.join_all()
        assert near == touched(cursor, found, covered)
        assert near[0]


def touched(cursor: Cursor, found: Identities, covered: int) -> list[set[tuple[int]]]:
    """Read the persons touched by new events, and all keys of theirs."""
    persons = found.touched_persons("new", covered)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE touched AS {persons}")
    return [set(cursor.execute(query).fetchall()) for query in ("FROM touched", found.keys_of("touched"))]


def test_links_of_a_deleted_project_are_gone(store: WorkingStore) -> None:
    project = store.add_project()
    store.write(project, an_event("identify", "v1", user_id="u1"))
    with store.warehouse.transaction() as cursor:
        identity_links.update(cursor, project.id, store.ingest.last_seq_of(project.id), anew=False)
    store.ingest.forget(project.id)
    with store.warehouse.cursor() as cursor:
        tables = cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        covered = cursor.execute("SELECT project_id FROM covered_links").fetchall()
    assert not [name for (name,) in tables if project.id in name]
    assert (project.id,) not in covered


def test_links_continue_after_a_restart(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as first:
        project = first.add_project()
        experiment = first.add_experiment(project)
        idle = (an_exposure(experiment, number % 2, f"idle{number}") for number in range(60))
        first.write(project, *idle, an_exposure(experiment, 0, "phone", user_id="u1"))
        first.rollup.refresh(project.id)
    with a_working_store(tmp_path) as again:
        again.write(project, an_event("identify", "laptop", user_id="u1", minute=1))
        again.write(project, a_purchase("laptop", minute=2))
        assert again.observe(experiment, project).conversions.tolist() == [[1, 0]]
        assert again.rollup.rebuild(project.id).drifted == ()
