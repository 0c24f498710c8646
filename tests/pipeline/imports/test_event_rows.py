"""A table of events becomes the events of the API, judged by the same rules."""

from collections.abc import Mapping

import polars as pl

from pipeline.events.decode import ProjectIds, RequestContext
from pipeline.imports.event_rows import read_event_rows
from pipeline.imports.tables import BadRow, Chunk

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
    frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index("line", offset=2)
    return Chunk(rows=frame.cast({"line": pl.Int64}))


def test_history_is_taken_whatever_its_age() -> None:
    (row,), bad = read_event_rows(chunk_of(EXPOSURE), RECEPTION)
    assert bad == ()
    assert (row.visitor_id, row.variant_id, row.occurred_at) == ("v1", "var_a", 1_483_364_561_000_000)


def test_a_column_of_no_field_is_an_attribute() -> None:
    rows, _ = read_event_rows(
        chunk_of({**EXPOSURE, "country": "DE", "attributes": '{"os": "iOS"}'}), RECEPTION
    )
    assert (rows[0].country, rows[0].os) == ("DE", "iOS")


def test_conversions_stand_beside_other_events() -> None:
    order = {
        "type": "conversion",
        "event_id": "e2",
        "visitor_id": "v1",
        "timestamp": "1483364562000",
        "goal_id": "goal_1",
        "revenue_cents": "1999",
    }
    rows, bad = read_event_rows(chunk_of(EXPOSURE, order), RECEPTION)
    assert bad == ()
    assert [(row.type, row.revenue_cents) for row in rows] == [("exposure", None), ("conversion", 1999)]


def test_a_row_that_the_rules_refuse_is_named_by_line_and_the_rest_taken() -> None:
    wrong = {**EXPOSURE, "event_id": "e2", "visitor_id": "undefined"}
    rows, (bad,) = read_event_rows(chunk_of(EXPOSURE, wrong, {**EXPOSURE, "event_id": "e3"}), RECEPTION)
    assert [row.event_id for row in rows] == ["e1", "e3"]
    assert isinstance(bad, BadRow)
    assert bad.line == 3
    assert bad.reason.startswith("invalid_visitor_id: ")
