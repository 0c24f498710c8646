"""Tables that Ibis reaches in other databases give the report of their rows, and only sums leave these."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import narwhals as nw
import polars as pl
import polars.selectors as cs
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Funnel, Mean, Ratio, Revenue, Value
from engine.frames.segments import analyze_frame_segments
from tests.engine.frames.lazy.shop import GOALS, OTHER_GOALS, shop_rows, wide_rows
from tests.engine.frames.same_reports import differences

# Ibis sets an option that pandas 3 is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")

_COLUMNS = (
    "visitor bigint, variant text, at {time}, bought boolean, spent {number}, views bigint, score {number}, "
    "rating {number}, returned bigint, is_over bigint, seen boolean, asked_at {time}, paid_at {time}, "
    "sent_at {time}, town text, is_member boolean, plan bigint, discount {number}"
)
_MANY = pytest.mark.long(seconds=6)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return wide_rows(shop_rows(1500))


@pytest.fixture
def table(
    request: pytest.FixtureRequest, rows: pl.DataFrame, tmp_path: Path, new_database: Callable[[], str]
) -> Iterator[Any]:
    if request.param == "Polars":
        yield ibis.polars.connect({"shop": rows.lazy()}).table("shop")
        return
    store = {"PostgreSQL": _in_postgresql, "SQLite": _in_sqlite}[request.param]
    connection = store(rows, tmp_path, new_database)
    yield connection.table("shop")
    connection.disconnect()


def _in_postgresql(rows: pl.DataFrame, _: Path, new_database: Callable[[], str]) -> Any:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        columns = _COLUMNS.format(time="timestamptz", number="double precision")
        connection.execute(f"CREATE TABLE shop ({columns})")
        with connection.cursor().copy("COPY shop FROM STDIN") as copy:
            for row in rows.iter_rows():
                copy.write_row(row)
    named = conninfo_to_dict(url)
    return ibis.postgres.connect(host=named["host"], user=named["user"], database=named["dbname"])


def _in_sqlite(rows: pl.DataFrame, folder: Path, _: Callable[[], str]) -> Any:
    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE shop ({_COLUMNS.format(time='timestamp', number='real')})")
        texts = rows.with_columns(cs.datetime().dt.strftime("%Y-%m-%d %H:%M:%S"))
        places = ", ".join("?" * texts.width)
        connection.executemany(f"INSERT INTO shop VALUES ({places})", texts.iter_rows())  # noqa: S608
        connection.commit()
    return ibis.sqlite.connect(path)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of rows of everything that leaves an engine."""
    heights: list[int] = []
    collect = nw.LazyFrame.collect

    def collected(frame: nw.LazyFrame[Any], *arguments: Any, **named: Any) -> Any:
        result = collect(frame, *arguments, **named)
        heights.append(len(result))
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", collected)
    return heights


ADJUSTED: dict[str, Any] = {
    "bought": "converted",
    "spent": Revenue(cap_percentile=90, orders="views", covariates=["rating", "score"]),
}
OF_TEXT: dict[str, Any] = {
    "score": Value(cap_percentile=99, covariates=["town", "views"]),
    "rating": Mean(covariates="town"),
    "score per view": Ratio("score", "views", covariates=["town", "rating"]),
}
UNORDERED = {name: goal for name, goal in OTHER_GOALS.items() if not isinstance(goal, Funnel)}


@pytest.mark.parametrize("table", ["PostgreSQL", "SQLite"], indirect=True)
@pytest.mark.parametrize(
    "asked",
    [
        {"goals": ADJUSTED, "visitor": "visitor"},
        {"goals": ADJUSTED},
        pytest.param({"goals": OF_TEXT}, marks=_MANY),
        pytest.param({"goals": UNORDERED, "visitor": "visitor", "timestamp": "at"}, marks=_MANY),
        pytest.param({"goals": OF_TEXT, "visitor": "visitor", "timestamp": "at"}, marks=_MANY),
        pytest.param({"goals": GOALS, "visitor": "visitor", "timestamp": "at"}, marks=_MANY),
    ],
)
def test_a_table_of_a_database_gives_the_report_of_its_rows_and_keeps_them(
    rows: pl.DataFrame, table: Any, fetched: list[int], asked: dict[str, Any]
) -> None:
    asked = {"control": "A", "timezone": "America/New_York", **asked}
    report = analyze_frame(table, **asked)
    # Days by variants at most, and the largest visitors of each goal and variant.
    assert 0 < max(fetched) < len(rows) / 4
    assert differences(report, analyze_frame(rows, **asked)) == []


@pytest.mark.parametrize("table", [pytest.param("PostgreSQL", marks=_MANY)], indirect=True)
def test_steps_quantiles_and_segments_of_a_database_are_those_of_its_rows(
    rows: pl.DataFrame, table: Any, fetched: list[int]
) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": OTHER_GOALS, "visitor": "visitor", "timestamp": "at"}
    report = analyze_frame(table, **asked)
    segments = analyze_frame_segments(table, segments=["town", "plan"], **asked)
    # Values of quantiles by segment, variant and bucket at most.
    assert 0 < max(fetched) < len(rows) / 3
    assert differences(report, analyze_frame(rows, **asked)) == []
    assert differences(segments, analyze_frame_segments(rows, segments=["town", "plan"], **asked)) == []


@pytest.mark.parametrize("table", [pytest.param("SQLite", marks=_MANY)], indirect=True)
def test_what_an_engine_cannot_parse_is_read_as_rows(rows: pl.DataFrame, table: Any) -> None:
    """Queries of ordered steps are nested more deeply than the parser of SQLite allows."""
    asked: dict[str, Any] = {"control": "A", "goals": OTHER_GOALS, "visitor": "visitor", "timestamp": "at"}
    assert differences(analyze_frame(table, **asked), analyze_frame(rows, **asked)) == []


@pytest.mark.parametrize("table", ["Polars"], indirect=True)
def test_a_table_of_this_process_gives_the_report_of_its_rows(rows: pl.DataFrame, table: Any) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": GOALS, "visitor": "visitor", "timestamp": "at"}
    assert differences(analyze_frame(table, **asked), analyze_frame(rows, **asked)) == []


@pytest.mark.parametrize("table", ["SQLite"], indirect=True)
@pytest.mark.parametrize("goal", [Revenue(), Revenue(known="bought")])
def test_what_an_engine_refuses_is_one_sentence(table: Any, goal: Revenue) -> None:
    table.get_backend().raw_sql("DROP TABLE shop").close()
    with pytest.raises(
        InvalidEvidenceError, match=r"^sqlite cannot count this table: no such table: shop"
    ) as raised:
        analyze_frame(table, control="A", goals={"spent": goal})
    assert str(raised.value).endswith("Give its rows as a data frame instead")
