"""A table of visitors becomes the events it stands for."""

import polars as pl
import pytest

from engine.local_days import epoch_microseconds
from pipeline.imports.visitor_rows import (
    ReadRows,
    VisitorColumns,
    events_of,
    read_visitors,
)
from pipeline.sources.tables import LINE, BadRow, Chunk
from tests.builders import NOW, a_goal, a_variant, an_experiment

COLUMNS = VisitorColumns(
    variant="page",
    goals={"bought": "custom_event", "spend": "revenue"},
    visitor="who",
    timestamp="at",
    segments=("country", "shoe_size"),
)
GOOD = {
    "who": "v1",
    "page": "A",
    "at": "2026-01-02 00:00:00.5",
    "bought": "1",
    "spend": "19.99",
    "country": "DE",
    "shoe_size": "42",
}


NOW_US = epoch_microseconds(NOW)


def read(*rows: dict[str, str | None], columns: VisitorColumns = COLUMNS) -> ReadRows:
    frame = pl.DataFrame([{**GOOD, **row} for row in rows]).with_row_index(LINE, offset=2)
    return read_visitors(Chunk(rows=frame.cast({LINE: pl.Int64})), columns, now_us=NOW_US)


def with_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """Give the rows the ids r0, r1, …"""
    return rows.with_columns(pl.format("r{}", pl.int_range(pl.len())).alias("row_id"))


EXPERIMENT = an_experiment(
    id="exp_1",
    variants=(
        a_variant(id="var_a", name="A", is_control=True),
        a_variant(id="var_b", name="B"),
    ),
    goals=(
        a_goal(id="goal_b", name="bought", is_primary=True),
        a_goal(
            id="goal_s",
            name="spend",
            goal_type="revenue",
            is_primary=False,
            config={"event_name": "spend"},
        ),
    ),
)


def test_a_row_means_what_its_columns_say() -> None:
    (row,) = read({}).rows.iter_rows(named=True)
    assert row == {
        "visitor_id": "v1",
        "variant": "A",
        "occurred_at": 1_767_312_000_500_000,
        "goal:bought": 1,
        "goal:spend": 1999,
        "content:bought": 1,
        "content:spend": 1999,
        "segment:country": "DE",
        "segment:shoe_size": "42",
    }


@pytest.mark.parametrize("word", ["1", "true", "TRUE", "yes", "1.0"])
def test_yes_is_written_in_many_ways(word: str) -> None:
    assert read({"bought": word}).rows["goal:bought"].item() == 1


@pytest.mark.parametrize("word", ["0", "false", "No", "", "0.0", None])
def test_no_is_written_in_many_ways(word: str | None) -> None:
    assert read({"bought": word}).rows["goal:bought"].item() == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"who": "null"}, "has no usable visitor id"),
        ({"who": None}, "has no usable visitor id"),
        ({"page": ""}, "has no variant in 'page'"),
        ({"at": "yesterday"}, "'at' is not a time such as 2026-01-31 12:00:00"),
        ({"bought": "2"}, "'bought' is neither 1 nor 0 (true or false, yes or no)"),
        ({"spend": "a lot"}, "'spend' is not an amount"),
        ({"spend": "inf"}, "'spend' is not an amount"),
        ({"spend": "NaN"}, "'spend' is not an amount"),
        ({"spend": "1e300"}, "'spend' is not an amount"),
    ],
)
def test_a_row_that_makes_no_sense_is_named_and_the_rest_taken(
    fault: dict[str, str | None], reason: str
) -> None:
    taken = read({}, fault, {"who": "v3"})
    assert taken.bad_rows == (BadRow(3, reason),)
    assert taken.rows["visitor_id"].to_list() == ["v1", "v3"]


def test_a_row_without_a_visitor_or_a_time_has_no_id_and_the_time_of_the_import() -> None:
    columns = VisitorColumns(variant="page", goals={"bought": "custom_event"})
    rows = read({}, {}, columns=columns).rows
    assert rows["visitor_id"].to_list() == [None, None]
    assert rows["occurred_at"].to_list() == [NOW_US, NOW_US]


def test_events_are_an_exposure_and_what_was_done() -> None:
    rows = read({}, {"who": "v2", "page": "B", "bought": "0", "spend": "-5"}).rows
    events = events_of(with_ids(rows), EXPERIMENT, COLUMNS).sort("event_id")
    assert events.select(
        "event_id", "type", "variant_id", "goal_id", "revenue_cents", "is_refund"
    ).rows() == [
        ("exp_1-goal_b-r0", "conversion", None, "goal_b", None, False),
        ("exp_1-goal_s-r0", "conversion", None, "goal_s", 1999, False),
        ("exp_1-goal_s-r1", "conversion", None, "goal_s", 500, True),
        ("exp_1-x-r0", "exposure", "var_a", None, None, None),
        ("exp_1-x-r1", "exposure", "var_b", None, None, None),
    ]


def test_a_known_segment_is_a_column_and_another_a_custom_dimension() -> None:
    exposure = (
        events_of(with_ids(read({}).rows), EXPERIMENT, COLUMNS).filter(type="exposure").row(0, named=True)
    )
    assert exposure["country"] == "DE"
    assert exposure["custom"] == '{"shoe_size":"42"}'


def test_a_segment_that_nothing_is_written_of_is_unknown() -> None:
    rows = read({"country": "", "shoe_size": ""}).rows
    exposure = events_of(with_ids(rows), EXPERIMENT, COLUMNS).filter(type="exposure").row(0, named=True)
    assert exposure["country"] is None
    assert exposure["custom"] == '{"shoe_size":null}'


@pytest.mark.parametrize(
    ("currency", "amount", "minor", "content"), [("JPY", "1200", 1200, 120_000), ("KWD", "1.234", 1234, 1234)]
)
def test_amounts_follow_the_minor_units_of_the_currency(
    currency: str, amount: str, minor: int, content: int
) -> None:
    frame = pl.DataFrame([{**GOOD, "spend": amount}]).with_columns(pl.lit(2, pl.Int64).alias(LINE))
    rows = read_visitors(Chunk(rows=frame), COLUMNS, now_us=NOW_US, currency=currency).rows
    assert (rows["goal:spend"].item(), rows["content:spend"].item()) == (minor, content)


def test_columns_may_have_the_names_that_the_import_uses() -> None:
    columns = VisitorColumns(
        variant="page",
        goals={"bought": "custom_event"},
        visitor="line",
        segments=("visitor_id", "variant", "fault"),
    )
    row: dict[str, str | None] = {"line": "v7", "visitor_id": "a", "variant": "b", "fault": "c"}
    (read_row,) = read(row, columns=columns).rows.iter_rows(named=True)
    assert (read_row["visitor_id"], read_row["segment:visitor_id"], read_row["segment:fault"]) == (
        "v7",
        "a",
        "c",
    )
