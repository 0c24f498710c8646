"""Assignment of frames: equal to the published vectors, in Polars and in DuckDB's own SQL."""

from datetime import date, timedelta
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from engine.design.holdout import ALL_OTHERS, HELD_OUT, place_in
from engine.design.reweighting import reweight
from engine.errors import InvalidEvidenceError
from pipeline.assignment.frame_assignment import assign_frame
from pipeline.store.documents import document_of
from tests.builders import STARTED, an_experiment
from tests.engine.design.test_holdout import a_holdout
from tests.pipeline.assignment.vector_frames import VectorFrame, vector_frames

PLAIN = document_of(an_experiment(status="running"))
CHANGED = document_of(reweight(an_experiment(status="running"), (1, 3), now=STARTED + timedelta(hours=1)))
GERMANS = {
    "version": 2,
    "root": {
        "operator": "and",
        "children": [{"field": "country", "operator": "equals", "values": ["DE"]}],
    },
}
TARGETED = document_of(an_experiment(status="running", targeting_rules=GERMANS))
VISITORS = pl.DataFrame({"visitor_id": [f"v{number}" for number in range(50)]})


def assigned(frame: VectorFrame, rows: Any) -> Any:
    return assign_frame(rows, frame.experiment, **frame.arguments)


def test_the_vectors_that_tables_express_are_most_of_the_file() -> None:
    frames = vector_frames()
    assert sum(len(frame.rows) for frame in frames) > 1700
    assert {frame.group for frame in frames} == {
        *("split", "letters", "pages", "targeting", "groups", "unit", "epochs", "stored", "rollouts"),
        "exclusion",
    }


def test_polars_gives_the_variants_of_every_vector() -> None:
    different = [
        (frame.experiment["id"], case)
        for frame in vector_frames()
        for case, found, wanted in zip(
            frame.rows.rows(named=True),
            assigned(frame, frame.rows)["assigned_variant"],
            frame.expected,
            strict=True,
        )
        if found != wanted
    ]
    assert different == []


def test_duckdb_gives_the_variants_of_vectors_of_each_kind() -> None:
    """Some of each group: a query takes a tenth of a second."""
    kept = {"split": 3, "letters": 3, "epochs": 2, "unit": 2, "groups": 8, "pages": 12, "targeting": 24}
    frames = [one for place, one in enumerate(vector_frames()) if place % kept.get(one.group, 99) == 0]
    assert len(frames) > 30
    with duckdb.connect() as connection:
        for frame in frames:
            connection.register("visits", frame.rows.with_row_index("row").to_arrow())
            found = assigned(frame, connection.table("visits")).pl().sort("row")
            assert found["assigned_variant"].to_list() == frame.expected, frame.experiment["id"]
            connection.unregister("visits")


def test_lazy_frames_stay_lazy_and_have_the_rows_of_eager_ones() -> None:
    lazy = assign_frame(VISITORS.lazy(), PLAIN)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), assign_frame(VISITORS, PLAIN))


def test_only_the_new_column_is_added() -> None:
    rows = VISITORS.with_columns(country=pl.lit("DE"), other=1)
    experiment = document_of(an_experiment(status="running", traffic_allocation=50, targeting_rules=GERMANS))
    found = assign_frame(rows, experiment, variant="arm")
    assert found.columns == [*rows.columns, "arm"]
    assert 0 < found["arm"].null_count() < 50
    assert_frame_equal(found.drop("arm"), rows)


def test_an_id_may_be_a_whole_number_and_none_has_no_variant() -> None:
    numbers = pl.DataFrame({"visitor_id": [7, 12, None]})
    texts = pl.DataFrame({"visitor_id": ["7", "12", None]})
    found = assign_frame(numbers, PLAIN)["assigned_variant"]
    assert found.to_list() == assign_frame(texts, PLAIN)["assigned_variant"].to_list()
    assert found.is_null().to_list() == [False, False, True]


def test_times_without_a_zone_are_utc_and_a_missing_one_has_no_variant() -> None:
    change = STARTED + timedelta(hours=1)
    times = [change - timedelta(seconds=1), change, None]
    aware = VISITORS.join(pl.DataFrame({"at": times}, schema={"at": pl.Datetime("us", "UTC")}), how="cross")
    naive = aware.with_columns(pl.col("at").dt.replace_time_zone(None))
    tokyo = aware.with_columns(pl.col("at").dt.convert_time_zone("Asia/Tokyo"))
    found = [assign_frame(rows, CHANGED, first_seen="at") for rows in (aware, naive, tokyo)]
    variants = [one["assigned_variant"].to_list() for one in found]
    assert variants[0] == variants[1] == variants[2]
    before, after, unknown = (variants[0][place::3] for place in range(3))
    assert before.count("Control") > after.count("Control") > 0
    assert set(unknown) == {None}


def test_columns_of_other_names_are_named() -> None:
    rows = VISITORS.with_columns(land=pl.Series(["DE", "FR"] * 25))
    found = assign_frame(rows, TARGETED, columns={"country": "land"})
    assert found["assigned_variant"].is_null().to_list() == [False, True] * 25
    assert assign_frame(rows, TARGETED, is_targeted=False)["assigned_variant"].null_count() == 0


@pytest.mark.parametrize(
    ("rows", "experiment", "arguments", "said"),
    [
        (VISITORS, TARGETED, {}, "targets country, and the frame has no column 'country'"),
        (VISITORS, TARGETED, {"columns": {"country": "land"}}, "no column 'land'"),
        (VISITORS, CHANGED, {}, "name the column with that time: first_seen="),
        (VISITORS.with_columns(at=date(2026, 3, 1)), CHANGED, {"first_seen": "at"}, "'at' must hold times"),
        (VISITORS, PLAIN, {"visitor": "id"}, "no column 'id'; it has visitor_id"),
        (VISITORS, PLAIN, {"url": "page"}, "no column 'page'"),
        (VISITORS.with_columns(assigned_variant=1), PLAIN, {}, "choose another variant="),
        (VISITORS.with_columns(truelift_hash_v=1), PLAIN, {}, "rename the column 'truelift_hash_v'"),
        (pl.DataFrame({"visitor_id": [0.5]}), PLAIN, {}, "must hold texts or whole numbers"),
        ({"visitor_id": ["v1"]}, PLAIN, {}, "not builtins.dict"),
        (VISITORS.to_pandas(), PLAIN, {}, "polars.from_pandas makes one of pandas"),
        (VISITORS, {"id": "exp_1"}, {}, "asked for with an API key"),
        (VISITORS, document_of(an_experiment(variants=())), {}, "has no variants"),
    ],
)
def test_what_cannot_be_assigned_is_refused_in_one_sentence(
    rows: Any, experiment: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidEvidenceError, match=said):
        assign_frame(rows, experiment, **arguments)


def test_too_many_combinations_for_a_query_are_refused() -> None:
    rows = VISITORS.join(pl.DataFrame({"country": [f"c{n}" for n in range(1_001)]}), how="cross").to_arrow()
    with duckdb.connect() as connection:
        connection.register("visits", rows)
        with pytest.raises(InvalidEvidenceError, match="country have more than 1,000 combinations"):
            assign_frame(connection.table("visits"), TARGETED)


def test_names_that_have_quotes_are_names() -> None:
    experiment = document_of(an_experiment(status="running", salt='it\'s \\ a "salt"'))
    rows = VISITORS.rename({"visitor_id": 'the "id"'})
    wanted = assign_frame(rows, experiment, visitor='the "id"')
    with duckdb.connect() as connection:
        connection.register("visits", rows.to_arrow())
        found = assign_frame(connection.table("visits"), experiment, visitor='the "id"').pl()
    assert_frame_equal(found, wanted)
    assert len(set(wanted["assigned_variant"])) == 2


def test_the_holdout_of_a_configuration_tells_who_is_held_out() -> None:
    holdout = a_holdout(percent=10)
    ids = [f"visitor-{number}" for number in range(200)]
    frame = pl.DataFrame({"visitor_id": ids})
    assigned = assign_frame(frame, {"id": holdout.id, "definition": document_of(holdout)}, variant="holdout")
    held = assigned.filter(pl.col("holdout") == HELD_OUT)["visitor_id"].to_list()
    assert held == [one for one in ids if place_in(holdout, one, None).is_held]
    assert len(held) > 5
    assert set(assigned["holdout"]) == {HELD_OUT, ALL_OTHERS}
