"""A table of events becomes the events of the API, judged by the same rules."""

from datetime import date

import polars as pl
import pytest

from pipeline.imports.event_contents import HAS_ID
from pipeline.imports.event_rows import read_event_rows
from pipeline.sources.tables import LINE, BadRow, Chunk
from tests.pipeline.imports.event_chunks import EXPOSURE, RECEPTION, chunk_of


def test_history_is_taken_whatever_its_age() -> None:
    read = read_event_rows(chunk_of(EXPOSURE), RECEPTION)
    assert read.bad_rows == ()
    assert read.events.select("visitor_id", "variant_id", "occurred_at", HAS_ID).rows() == [
        ("v1", "var_a", 1_483_364_561_000_000, True)
    ]


def test_a_column_of_no_field_is_an_attribute() -> None:
    read = read_event_rows(chunk_of({**EXPOSURE, "country": "DE", "attributes": '{"os": "iOS"}'}), RECEPTION)
    assert read.events.select("country", "os").rows() == [("DE", "iOS")]


def test_a_column_of_what_browsers_alone_tell_is_an_attribute() -> None:
    rows = read_event_rows(chunk_of(EXPOSURE | {"late": "yes"}), RECEPTION)
    assert rows.bad_rows == ()
    assert rows.events.select("custom", "not_counted").rows() == [('{"late":"yes"}', None)]


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
    assert read.events.select("type", "revenue_cents").rows() == [("exposure", None), ("conversion", 1999)]


def test_a_row_that_the_rules_refuse_is_named_by_line_and_the_rest_taken() -> None:
    wrong = {**EXPOSURE, "event_id": "e2", "visitor_id": "undefined"}
    read = read_event_rows(chunk_of(EXPOSURE, wrong, {**EXPOSURE, "event_id": "e3"}), RECEPTION)
    assert read.events["event_id"].to_list() == ["e1", "e3"]
    (bad,) = read.bad_rows
    assert isinstance(bad, BadRow)
    assert bad.line == 3
    assert bad.reason.startswith("invalid_visitor_id: ")


@pytest.mark.parametrize("text", [" 1580472000 ", "1580472000000", "31.01.2020 12:00", "31/01/2020 12:00:00"])
def test_a_time_is_read_as_in_tables_of_visitors(text: str) -> None:
    read = read_event_rows(chunk_of({**EXPOSURE, "timestamp": text}), RECEPTION)
    assert read.bad_rows == ()
    assert read.events["occurred_at"].to_list() == [1_580_472_000_000_000]


@pytest.mark.parametrize("text", ["99999999", " 99999999 ", "1999-12-31", "2099-01-01", "31.12.1999"])
def test_a_time_outside_of_the_years_of_tables_is_a_bad_row(text: str) -> None:
    read = read_event_rows(chunk_of({**EXPOSURE, "timestamp": text}, EXPOSURE), RECEPTION)
    assert read.events.height == 1
    assert [(bad.line, bad.reason.partition(":")[0]) for bad in read.bad_rows] == [(2, "invalid_timestamp")]


@pytest.mark.parametrize("depth", [900, 960, 1_000, 3_000])
def test_attributes_that_nest_too_deep_are_a_bad_row_of_its_line(depth: int) -> None:
    deep = {**EXPOSURE, "event_id": "e2", "attributes": '{"a":' + "[" * depth + "]" * depth + "}"}
    read = read_event_rows(chunk_of(EXPOSURE, deep, {**EXPOSURE, "event_id": "e3"}), RECEPTION)
    assert {"e1", "e3"} <= set(read.events["event_id"])
    assert [bad.line for bad in read.bad_rows] == ([3] if "e2" not in read.events["event_id"] else [])
    assert read.bad_rows or depth < 3_000


@pytest.mark.parametrize("column", ["timestamp", "signed_up"])
@pytest.mark.parametrize(
    ("value", "physical", "kind"),
    [
        (2**31 - 1, pl.Int32, pl.Date()),
        (-(2**31), pl.Int32, pl.Date()),
        (10**17, pl.Int64, pl.Datetime("ms")),
        (10**18, pl.Int64, pl.Datetime("us", "Europe/Berlin")),
        (-(10**17), pl.Int64, pl.Datetime("ms")),
    ],
)
def test_a_time_that_no_calendar_has_is_a_bad_row_of_its_line(
    column: str, value: int, physical: type[pl.DataType], kind: pl.DataType
) -> None:
    no_time = pl.Series([value], dtype=physical).cast(kind)
    times = pl.concat([no_time, pl.Series([date(2026, 1, 31), None]).cast(kind)])
    rows = pl.DataFrame(
        {
            "type": "custom_event",
            "visitor_id": ["a", "b", "c"],
            "event_name": "x",
            column: times,
            LINE: [2, 3, 4],
        }
    )
    read = read_event_rows(Chunk(rows, table="t"), RECEPTION)
    assert read.events["visitor_id"].to_list() == ["b", "c"]
    (bad,) = read.bad_rows
    assert (bad.line, bad.reason.partition(":")[0]) == (2, "invalid_timestamp")
