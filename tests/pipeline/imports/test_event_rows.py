"""A table of events becomes the events of the API, judged by the same rules."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from pipeline.events.decode import ProjectIds, RequestContext
from pipeline.events.hashing import hash64
from pipeline.imports.event_rows import number_events, read_event_rows
from pipeline.imports.tables import LINE, BadRow, Chunk
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from tests.pipeline.working_store import a_working_store

RECEPTION = RequestContext(
    received_us=1_800_000_000_000_000,
    project_ids=ProjectIds({"exp_1": frozenset({"var_a"})}, frozenset({"goal_1"})),
    sender="import",
    max_age_us=None,
)
EXPOSURE = {
    "type": "exposure",
    "event_id": "e1",
    "visitor_id": "v1",
    "timestamp": "2017-01-02T13:42:41Z",
    "experiment_id": "exp_1",
    "variant_id": "var_a",
}


def chunk_of(*rows: Mapping[str, object]) -> Chunk:
    frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index(LINE, offset=2)
    return Chunk(rows=frame.cast({LINE: pl.Int64}))


def test_history_is_taken_whatever_its_age() -> None:
    read = read_event_rows(chunk_of(EXPOSURE), RECEPTION)
    (row,) = read.rows
    assert (read.bad_rows, read.contents) == ((), [None])
    assert (row.visitor_id, row.variant_id, row.occurred_at) == ("v1", "var_a", 1_483_364_561_000_000)


def test_a_column_of_no_field_is_an_attribute() -> None:
    read = read_event_rows(chunk_of({**EXPOSURE, "country": "DE", "attributes": '{"os": "iOS"}'}), RECEPTION)
    assert (read.rows[0].country, read.rows[0].os) == ("DE", "iOS")


def test_conversions_stand_beside_other_events() -> None:
    order = {
        "type": "conversion",
        "event_id": "e2",
        "visitor_id": "v1",
        "timestamp": "1483364562000",
        "goal_id": "goal_1",
        "revenue_cents": "1999",
    }
    read = read_event_rows(chunk_of(EXPOSURE, order), RECEPTION)
    assert read.bad_rows == ()
    assert [(row.type, row.revenue_cents) for row in read.rows] == [("exposure", None), ("conversion", 1999)]


def test_a_row_that_the_rules_refuse_is_named_by_line_and_the_rest_taken() -> None:
    wrong = {**EXPOSURE, "event_id": "e2", "visitor_id": "undefined"}
    read = read_event_rows(chunk_of(EXPOSURE, wrong, {**EXPOSURE, "event_id": "e3"}), RECEPTION)
    assert [row.event_id for row in read.rows] == ["e1", "e3"]
    (bad,) = read.bad_rows
    assert isinstance(bad, BadRow)
    assert bad.line == 3
    assert bad.reason.startswith("invalid_visitor_id: ")


def contents_of(*rows: Mapping[str, object], received_us: int = RECEPTION.received_us) -> list[int | None]:
    """Read events without their ids, and return the hashes of their contents."""
    nameless = [{name: value for name, value in row.items() if name != "event_id"} for row in rows]
    context = replace(RECEPTION, received_us=received_us)
    return read_event_rows(chunk_of(*nameless), context).contents


def test_the_content_of_an_event_is_what_happened_to_whom_and_when() -> None:
    other = [
        {**EXPOSURE, "visitor_id": "v2"},
        {**EXPOSURE, "timestamp": "2017-01-02T13:42:42Z"},
        {**EXPOSURE, "user_id": "u1"},
        {**EXPOSURE, "type": "pageview", "url": "https://shop.example/"},
        {**EXPOSURE, "type": "custom_event", "event_name": "purchase", "value": "1"},
        {**EXPOSURE, "type": "custom_event", "event_name": "purchase", "value": "2"},
    ]
    contents = contents_of(EXPOSURE, *other)
    assert None not in contents
    assert len(set(contents)) == len(other) + 1
    # How it is written, and attributes, are no content.
    (same,) = contents_of({**EXPOSURE, "timestamp": "1483364561000", "country": "DE"})
    assert same == contents[0]


def test_the_time_of_the_import_is_no_content_of_an_event() -> None:
    timeless = {name: value for name, value in EXPOSURE.items() if name != "timestamp"}
    ahead = {**EXPOSURE, "timestamp": "2199-01-01T00:00:00Z"}
    later = RECEPTION.received_us + 86_400_000_000
    assert contents_of(timeless, ahead) == contents_of(timeless, ahead, received_us=later)


def test_times_of_a_typed_column_are_those_of_text() -> None:
    moment = datetime(2017, 1, 2, 13, 42, 41, tzinfo=UTC)
    assert contents_of({**EXPOSURE, "timestamp": moment}) == contents_of(EXPOSURE)


def test_equal_events_without_ids_are_numbered_and_others_keep_their_ids(tmp_path: Path) -> None:
    nameless = {**EXPOSURE, "event_id": ""}
    with a_working_store(tmp_path) as store, store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "read")
        read = read_event_rows(chunk_of(nameless, EXPOSURE, nameless), RECEPTION)
        first, own, second = number_events(read, counts)
        (third,) = number_events(read_event_rows(chunk_of(nameless), RECEPTION), counts)
    assert own.event_id == "e1"
    stem = f"import-{read.contents[0]:016x}"
    assert [event.event_id for event in (first, second, third)] == [f"{stem}-{number}" for number in range(3)]
    assert first.event_key == hash64(first.event_id)
