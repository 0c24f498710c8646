"""Segments, funnels, quantiles and known outcomes of a table are those of its rows, by its own engine."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import duckdb
import ibis
import narwhals as nw
import polars as pl
import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Funnel, Quantile
from engine.frames.quantiles import analyze_frame_quantiles
from engine.frames.segments import analyze_frame_segments
from tests.engine.frames.lazy.shop import OTHER_GOALS, SEGMENTS, shop_rows, wide_rows
from tests.engine.frames.same_reports import differences


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return wide_rows(shop_rows(2000))


@pytest.fixture(scope="module")
def table(rows: pl.DataFrame) -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.register("rows", rows.to_arrow())
        connection.execute("CREATE TABLE shop AS SELECT * FROM rows")
        yield connection.table("shop")


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the columns of everything that leaves an engine."""
    found: list[list[str]] = []
    collect = nw.LazyFrame.collect

    def collected(frame: nw.LazyFrame[Any], *arguments: Any, **named: Any) -> Any:
        result = collect(frame, *arguments, **named)
        found.append(result.columns)
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", collected)
    return found


ROLES = [
    {"visitor": "visitor", "timestamp": "at"},
    *(pytest.param(roles, marks=pytest.mark.long(seconds=8)) for roles in ({"timestamp": "at"}, {})),
]


@pytest.mark.parametrize("roles", ROLES)
def test_segments_are_those_of_the_rows(
    rows: pl.DataFrame, table: Any, fetched: list[list[str]], roles: dict[str, str]
) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": OTHER_GOALS, "segments": SEGMENTS, **roles}
    report = analyze_frame_segments(table, **asked)
    assert fetched
    assert not any("visitor" in columns or "bought" in columns for columns in fetched)
    assert differences(report, analyze_frame_segments(rows, **asked)) == []
    assert {split.dimension for split in report.splits} == set(SEGMENTS)


@pytest.mark.parametrize("roles", ROLES)
def test_what_is_ordered_ranked_or_known_in_part_is_that_of_the_rows(
    rows: pl.DataFrame, table: Any, fetched: list[list[str]], roles: dict[str, str]
) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": OTHER_GOALS, **roles}
    report = analyze_frame(table, **asked)
    assert fetched
    assert not any("visitor" in columns or "bought" in columns for columns in fetched)
    assert differences(report, analyze_frame(rows, **asked)) == []


def test_without_times_the_first_of_several_rows_is_read(
    rows: pl.DataFrame, table: Any, fetched: list[list[str]]
) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": ["bought"], "segments": ["plan"], "visitor": "visitor"}
    report = analyze_frame_segments(table, **asked)
    assert ["variant", "visitor", "bought", "plan"] in fetched
    assert differences(report, analyze_frame_segments(rows, **asked)) == []


def test_steps_of_two_types_have_the_error_or_the_report_of_the_rows(rows: pl.DataFrame, table: Any) -> None:
    with pytest.raises(InvalidEvidenceError, match="are of two kinds"):
        analyze_frame(table, control="A", goals={"f": Funnel("seen", "paid_at")})
    days = rows.with_columns(pl.col("asked_at").dt.date())
    goals = {"f": Funnel("asked_at", "paid_at")}
    with duckdb.connect() as connection:
        report = analyze_frame(connection.from_arrow(days.to_arrow()), control="A", goals=goals)
    assert differences(report, analyze_frame(days, control="A", goals=goals)) == []


def test_a_value_at_the_edge_of_a_bucket_is_in_that_of_the_rows() -> None:
    """Engines and NumPy round logarithms in different ways; powers of the width are the edges."""
    edges = [1.01**power for power in range(1, 300)]
    values = [value for edge in edges for value in (edge, edge * (1 - 1e-15), edge * (1 + 1e-15), -edge)]
    frame = pl.DataFrame({"variant": ["A", "B"] * (len(values) // 2), "load": values})
    goals = {"load": Quantile("load", q=0.6)}
    with duckdb.connect() as connection:
        report = analyze_frame(connection.from_arrow(frame.to_arrow()), control="A", goals=goals)
    assert differences(report, analyze_frame(frame, control="A", goals=goals)) == []


def test_of_rows_of_one_time_a_visitor_has_the_least_value() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    frame = pl.DataFrame(
        {
            "visitor": [1, 1, 2, 2] * 2,
            "variant": ["A", "A", "B", "B"] * 2,
            "at": [at] * 8,
            "town": ["Ulm", "Bonn"] * 4,
            "bought": [True, False] * 4,
        }
    )
    with duckdb.connect() as connection:
        report = analyze_frame_segments(
            connection.from_arrow(frame.to_arrow()),
            control="A",
            goals=["bought"],
            segments=["town"],
            visitor="visitor",
            timestamp="at",
        )
    assert {split.value for split in report.splits} == {"Bonn"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: analyze_frame(table, control="A", goals=["bought"]),
        lambda table: analyze_frame_segments(table, control="A", goals=["bought"], segments=["variant"]),
        lambda table: analyze_frame_quantiles(table, "bought", [0.5], control="A"),
    ],
)
def test_a_table_of_no_engine_is_one_sentence(ask: Callable[[Any], object]) -> None:
    table = ibis.table({"variant": "string", "bought": "boolean"}, name="shop")
    with pytest.raises(InvalidEvidenceError, match=r"^ibis cannot count this table: .*unbound"):
        ask(table)
