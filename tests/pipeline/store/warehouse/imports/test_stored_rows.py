from pathlib import Path

import polars as pl

from engine.design.experiment import Experiment
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.imports.stored_rows import (
    ImportedInto,
    StoredRowKinds,
    count_row_kinds,
    count_stored_visitors,
    find_stored_events,
    read_anonymous_rows,
    read_rows_by_line,
)
from tests.pipeline.working_store import a_working_store, an_event, an_exposure

HASH = "00000000000000ff"


def a_row(
    experiment: Experiment, row_id: str, visitor: str, *, minute: float = 0, at: int | None = None
) -> EventRow:
    """Build the exposure of an imported row, with the time of the import unless `at` is given."""
    exposure = an_exposure(experiment, visitor=visitor, minute=minute, event_id=f"{experiment.id}-x-{row_id}")
    return exposure if at is None else exposure._replace(occurred_at=at)


def test_rows_are_counted_by_what_their_file_had(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        into = ImportedInto(project.id, experiment.id)
        with store.warehouse.cursor() as cursor:
            assert count_row_kinds(cursor, into) == StoredRowKinds()
            store.write(
                project,
                a_row(experiment, "2", "row-2"),
                a_row(experiment, "3", "v3", at=5),
                a_row(experiment, f"{HASH}-0-{HASH}", f"row-{HASH}-0"),
                a_row(experiment, f"{HASH}-0", "v4"),
                an_exposure(experiment, visitor="v5", event_id="sent"),
            )
            found = StoredRowKinds(rows=4, anonymous=2, untimed=3, by_line=2, first_us=5)
            assert count_row_kinds(cursor, into) == found


def test_stored_events_and_visitors_are_found(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        into = ImportedInto(project.id, experiment.id)
        keys = pl.Series(
            [hash64(f"{experiment.id}-x-{HASH}-{number}") for number in range(2)], dtype=pl.UInt64
        )
        visits = pl.DataFrame(
            {"visitor_key": [hash64("v1"), hash64("v1"), hash64("v2")], "occurred_at": [5, 6, 5]},
            schema={"visitor_key": pl.UInt64, "occurred_at": pl.Int64},
        )
        with store.warehouse.cursor() as cursor:
            assert find_stored_events(cursor, project.id, keys).to_list() == []
            assert count_stored_visitors(cursor, into, visits, until=0) == 0
            store.write(project, a_row(experiment, f"{HASH}-1", "v1", at=5))
            assert find_stored_events(cursor, project.id, keys).to_list() == [keys[1]]
            assert count_stored_visitors(cursor, into, visits, until=1) == 1
            assert count_stored_visitors(cursor, into, visits.drop("occurred_at"), until=1) == 2


def test_rows_without_visitor_ids_come_in_the_order_of_their_import(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        rows = [(2, 1), (0, 0), (1, 0), (11, 1)]
        store.write(
            project,
            *(
                a_row(
                    experiment, f"{HASH}-{position}-{position:016x}", f"row-{HASH}-{position}", minute=minute
                )
                for position, minute in rows
            ),
            a_row(experiment, f"{HASH}-0", "v1"),
        )
        with store.warehouse.cursor() as cursor:
            read = read_anonymous_rows(cursor, ImportedInto(project.id, experiment.id))
    assert read["position"].to_list() == read["content"].to_list() == [0, 1, 2, 11]
    assert read["series"].unique().to_list() == [255]
    assert read["received_at"].n_unique() == 2


def test_rows_by_line_have_the_amounts_of_their_own_visitor_and_of_the_first_event(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        goal = experiment.goals[0].id

        def conversion(line: int, visitor: str, cents: int | None, *, is_refund: bool = False) -> EventRow:
            return an_event(
                "conversion",
                visitor,
                event_id=f"{experiment.id}-{goal}-{line}",
                goal_id=goal,
                revenue_cents=cents,
                is_refund=is_refund,
            )

        store.write(
            project,
            *(
                a_row(experiment, str(line), visitor)
                for line, visitor in ((2, "v2"), (3, "v3"), (10, "v10"), (4, "v4"))
            ),
            conversion(2, "v2", 500, is_refund=True),
            conversion(3, "other", 700),
            conversion(4, "v4", None),
            # A second file: its line 2 is a repeat of the first's.
            a_row(experiment, "2", "v2-again"),
            conversion(2, "v2", 900),
        )
        with store.warehouse.cursor() as cursor:
            (rows,) = read_rows_by_line(cursor, ImportedInto(project.id, experiment.id), [goal])
    assert rows.select("visitor_id", "g0").rows() == [("v2", -500), ("v3", 0), ("v4", 1), ("v10", 0)]
