"""A table of an engine gives the report of its rows, and only sums leave the engine."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import ibis
import narwhals as nw
import polars as pl
import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio, Revenue, goals_of
from engine.frames.lazy.engine_queries import is_engine_table
from tests.engine.frames.lazy.shop import GOALS, shop_rows
from tests.engine.frames.same_reports import differences

# Ibis 12 calls DuckDB 2 by an older name.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return shop_rows()


@pytest.fixture(scope="module")
def stored(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lazy") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        shop = rows.to_arrow()  # noqa: F841  # DuckDB finds it by its name
        connection.execute("CREATE TABLE shop AS SELECT * FROM shop")
    return path


@pytest.fixture(params=["DuckDB", "Ibis"])
def table(request: pytest.FixtureRequest, stored: Path) -> Iterator[Any]:
    if request.param == "DuckDB":
        with duckdb.connect(str(stored)) as connection:
            # The days must not depend on the zone of the session.
            connection.execute("SET TimeZone = 'Asia/Tokyo'")
            yield connection.table("shop")
    else:
        connection = ibis.duckdb.connect(stored, read_only=True)
        yield connection.table("shop")
        connection.disconnect()


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """Return the number of rows and the columns of everything that leaves an engine."""
    found: list[tuple[int, list[str]]] = []
    collect = nw.LazyFrame.collect

    def collected(frame: nw.LazyFrame[Any], *arguments: Any, **named: Any) -> Any:
        result = collect(frame, *arguments, **named)
        found.append((len(result), result.columns))
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", collected)
    return found


def analyzed(frame: Any, **arguments: Any) -> Any:
    return analyze_frame(frame, control="A", goals=GOALS, timezone="America/New_York", **arguments)


def by_engine(*always: Any, longer: list[Any]) -> list[Any]:
    """Ask most of DuckDB; of Ibis, which takes seconds to write its SQL, only some where tests are short."""
    asked = [pytest.param("DuckDB", one) for one in (*always, *longer[:1])]
    asked += [pytest.param("DuckDB", one, marks=pytest.mark.long(seconds=1)) for one in longer[1:]]
    asked += [pytest.param("Ibis", one) for one in always]
    return asked + [pytest.param("Ibis", one, marks=pytest.mark.long(seconds=6)) for one in longer]


def only_sums(fetched: list[tuple[int, list[str]]]) -> None:
    """Assert that sums by variant were fetched, and besides the largest values, with no visitor's id."""
    largest = [columns for _, columns in fetched if "size" in columns]
    assert largest == [["goal", "arm", "list", "size", "value", "denominator", "before"]]
    assert max(height for height, columns in fetched if "size" not in columns) <= 3


@pytest.mark.parametrize(
    ("table", "columns"),
    by_engine(("visitor", "at"), longer=[(None, "at"), ("visitor", None), (None, None)]),
    indirect=["table"],
)
def test_a_table_gives_the_report_of_its_rows_and_no_row_of_a_visitor_leaves_the_engine(
    rows: pl.DataFrame,
    table: Any,
    columns: tuple[str | None, str | None],
    fetched: list[tuple[int, list[str]]],
) -> None:
    visitor, timestamp = columns
    assert is_engine_table(nw.from_native(table))
    report = analyzed(table, visitor=visitor, timestamp=timestamp)
    left = list(fetched)
    assert report.goals[0].variants[0].visitors > 300
    assert differences(report, analyzed(rows, visitor=visitor, timestamp=timestamp)) == []
    if visitor is None:
        return
    # Days by variants, and by days since the first row at most; there are 1,333 visitors in 4,000 rows.
    assert left
    assert max(height for height, _ in left) <= 15 * 3 * 15
    assert not any("visitor" in names for _, names in left)


def test_orders_are_paired_with_revenue_by_the_engine(
    rows: pl.DataFrame, table: Any, fetched: list[tuple[int, list[str]]]
) -> None:
    asked: dict[str, Any] = {"control": "A", "goals": {"spent": Revenue(orders="views")}}
    report = analyze_frame(table, visitor="visitor", **asked)
    only_sums(fetched)
    assert differences(report, analyze_frame(rows, visitor="visitor", **asked)) == []


@pytest.mark.parametrize(("table", "covariate"), by_engine("rating", longer=["views"]), indirect=["table"])
def test_a_covariate_is_paired_with_the_goals_by_the_engine(
    rows: pl.DataFrame, table: Any, fetched: list[tuple[int, list[str]]], covariate: str
) -> None:
    """A rating is not known of every visitor, and the number of views is."""
    goals = {
        name: goal if name in {covariate, "score per view"} else goal.with_options(covariates=covariate)
        for name, goal in goals_of(GOALS).items()
    }
    asked: dict[str, Any] = {"control": "A", "goals": goals}
    report = analyze_frame(table, visitor="visitor", **asked)
    only_sums(fetched)
    assert differences(report, analyze_frame(rows, visitor="visitor", **asked)) == []


@pytest.mark.parametrize(
    ("table", "asked"),
    by_engine(
        {"goals": {"spent": Revenue(cap_percentile=99)}},
        longer=[
            {"goals": {"spent": Revenue(covariates=["rating", "views"])}},
            {"goals": {"spent": Revenue(covariates="rating", orders="views")}},
            {"goals": {"score per view": Ratio("score", "views", covariates="rating")}},
        ],
    ),
    indirect=["table"],
)
def test_what_sums_do_not_tell_is_read_as_rows(rows: pl.DataFrame, table: Any, asked: dict[str, Any]) -> None:
    report = analyze_frame(table, control="A", visitor="visitor", **asked)
    assert differences(report, analyze_frame(rows, control="A", visitor="visitor", **asked)) == []


OPTIONS: dict[str, Any] = {
    "covariates": ["habit", ["habit", "town"], "town"],
    "guardrail": [5],
    "minimum_effect": [40],
    "less_is_better": [True],
    "cap_percentile": [90],
    "orders": ["views"],
    "currency": ["KWD"],
}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *((name, one) for name, all_ in OPTIONS.items() for one in all_),
        pytest.param("covariates", ["habit"], marks=pytest.mark.long(seconds=2)),
    ],
)
def test_every_option_of_every_kind_gives_the_report_of_rows(
    rows: pl.DataFrame, option: str, value: object
) -> None:
    shop = rows.with_columns(
        habit=pl.col("visitor") % 7 + pl.col("views") / 9,
        town=pl.when(pl.col("visitor") % 3 == 0).then(pl.lit("Bern")).otherwise(pl.lit("Ulm")),
    )
    goals = {name: goal for name, goal in goals_of(GOALS).items() if hasattr(goal, option)}
    assert goals
    asked: dict[str, Any] = {
        "control": "A",
        "visitor": "visitor",
        # The primary goal can be no guardrail.
        "goals": {"first": Ratio("views", "score")}
        | {name: goal.with_options(**{option: value}) for name, goal in goals.items()},
    }
    with duckdb.connect() as connection:
        report = analyze_frame(connection.from_arrow(shop.to_arrow()), **asked)
    assert differences(report, analyze_frame(shop, **asked)) == []
    plain = analyze_frame(shop, **{**asked, "goals": {"first": Ratio("views", "score"), **goals}})
    assert all(differences(one, other) for one, other in zip(report.goals[1:], plain.goals[1:], strict=True))


ROW: dict[str, Any] = {"variant": "B", "visitor": 1, "at": datetime(2026, 3, 1), "bought": 1, "spent": 1.0}  # noqa: DTZ001


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"bought": 2}, "converted"),
        ({"bought": "yes"}, "converted"),
        ({"bought": -1}, "count"),
        ({"bought": 0.5}, "count"),
        ({"bought": 2.0**60}, "count"),
        ({"bought": float("inf")}, "count"),
        ({"bought": float("inf")}, "value"),
        ({"bought": float("inf")}, "revenue"),
        ({"bought": 1e15}, "revenue"),
        ({"bought": "1"}, "revenue"),
        ({"variant": None}, "converted"),
        ({"visitor": None}, "converted"),
        ({"at": None}, "converted"),
        ({"at": datetime(1600, 1, 1)}, "converted"),  # noqa: DTZ001
        ({"at": 5}, "converted"),
        ({"unknown": 1}, "nothing"),
    ],
)
def test_a_bad_column_has_the_error_of_a_data_frame(changed: dict[str, Any], kind: Any) -> None:
    first = {
        **ROW,
        "variant": "A",
        **({} if "unknown" in changed else {"bought": type(changed.get("bought", 1))(0)}),
    }
    frame = pl.DataFrame([first, {**ROW, **changed}], strict=False)
    asked: dict[str, Any] = {
        "control": "A",
        "visitor": "visitor",
        "timestamp": "at",
        "goals": {"bought": kind},
    }
    with pytest.raises((InvalidEvidenceError, ValueError)) as expected:
        analyze_frame(frame, **asked)
    with duckdb.connect() as connection, pytest.raises(type(expected.value)) as raised:
        analyze_frame(connection.from_arrow(frame.to_arrow()), **asked)
    assert str(raised.value).split(" holds ")[0] == str(expected.value).split(" holds ")[0]


def test_a_column_of_dates_has_the_days_of_a_data_frame() -> None:
    frame = pl.DataFrame(
        {
            "variant": ["A", "B"] * 20,
            "day": [date(2026, 3, 1 + number // 4) for number in range(40)],
            "bought": [number % 3 == 0 for number in range(40)],
        }
    )
    asked: dict[str, Any] = {
        "control": "A",
        "timestamp": "day",
        "goals": ["bought"],
        "timezone": "America/Lima",
    }
    with duckdb.connect() as connection:
        report = analyze_frame(connection.from_arrow(frame.to_arrow()), **asked)
    assert len(report.goals[0].days) == 10
    assert differences(report, analyze_frame(frame, **asked)) == []


def test_an_empty_table_and_too_many_variants_are_refused() -> None:
    many = pl.DataFrame({"variant": [str(number) for number in range(1200)], "bought": [1] * 1200})
    with duckdb.connect() as connection:
        with pytest.raises(InvalidEvidenceError, match="no rows"):
            analyze_frame(connection.from_arrow(many.head(0).to_arrow()), control="0", goals=["bought"])
        with pytest.raises(InvalidEvidenceError, match="more than 1,000 values"):
            analyze_frame(connection.from_arrow(many.to_arrow()), control="0", goals=["bought"])


@pytest.mark.parametrize("value", [3.3, 1 / 3, 0.1, 9.99, 1e9 + 0.1])
@pytest.mark.parametrize("kind", ["value", "mean"])
def test_equal_values_have_no_variance_and_no_winner(kind: Any, value: float) -> None:
    """The mean of equal values is rounded; what rounding leaves is no difference between variants."""
    frame = pl.DataFrame({"variant": ["A"] * 1000 + ["B"] * 999, "score": [value] * 1999})
    with duckdb.connect() as connection:
        table = connection.from_arrow(frame.to_arrow())
        for df in (frame, table):
            report = analyze_frame(df, control="A", goals={"score": kind})
            assert report.goals[0].variants[1].p_value is None
            assert report.goals[0].variants[1].mean == value
            assert report.primary is not None
            assert report.primary.decision.recommendation == "review"


def test_values_that_differ_by_rounding_are_equal() -> None:
    """Three times 0.1 and 0.3 are one value in a data frame, and where its engine counts it."""
    frame = pl.DataFrame({"variant": ["A"] * 10 + ["B"] * 10, "score": [0.3, 0.1 + 0.1 + 0.1] * 10})
    with duckdb.connect() as connection:
        for df in (frame, connection.from_arrow(frame.to_arrow())):
            variant = analyze_frame(df, control="A", goals={"score": "value"}).goals[0].variants[1]
            assert variant.p_value is None
            assert variant.mean == pytest.approx(0.3, rel=1e-15)


def test_rows_without_a_number_of_orders_have_none() -> None:
    frame = pl.DataFrame(
        {
            "variant": ["A", "A", "A", "B", "B", "B"],
            "spent": [10.0, 0.0, 5.0, 12.0, 7.0, 0.0],
            "orders": [1, None, 2, 3, 1, None],
        }
    )
    asked: dict[str, Any] = {"control": "A", "goals": {"spent": Revenue(orders="orders")}}
    with duckdb.connect() as connection:
        report = analyze_frame(connection.from_arrow(frame.to_arrow()), **asked)
    assert differences(report, analyze_frame(frame, **asked)) == []
    assert (
        differences(report, analyze_frame(frame.with_columns(pl.col("orders").fill_null(0)), **asked)) == []
    )
    assert report.goals[0].variants[1].p_value is not None


def test_a_ratio_to_nothing_has_no_mean() -> None:
    frame = pl.DataFrame({"variant": ["A", "B"] * 50, "spent": [3.0] * 100, "orders": [0] * 100})
    found = analyze_frame(frame, control="A", goals={"aov": Ratio("spent", "orders")}).goals[0].variants[1]
    assert (found.mean, found.p_value) == (None, None)
