"""Tables of Spark give the report of their rows, of every measure."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio, Revenue
from engine.frames.segments import analyze_frame_segments
from pipeline.assignment.frame_assignment import assign_frame
from tests.engine.frames.lazy.shop import OTHER_GOALS, shop_rows, wide_rows
from tests.engine.frames.same_reports import differences
from tests.pipeline.assignment.vector_frames import vector_frames
from tests.pipeline.measured_visitors import MADE, assert_same, drawn_visitors, treatment

# PySpark looks for pandas when it fetches Arrow tables, and warns of version 3.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark") / "warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # The days must not depend on the zone of the session.
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    builder = SparkSession.builder.master("local[2]").appName("truelift")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.long(seconds=60)
def test_a_table_of_spark_gives_the_report_of_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = shop_rows(2000)
    rows.write_parquet(tmp_path / "shop.parquet")
    asked: dict[str, Any] = {
        "control": "A",
        "goals": {
            "bought": "converted",
            "spent": Revenue(cap_percentile=90, covariates=["rating", "views"]),
            "score per view": Ratio("score", "views", covariates="rating"),
        },
        "visitor": "visitor",
        "timestamp": "at",
        "timezone": "America/New_York",
    }
    report = analyze_frame(spark.read.parquet(str(tmp_path / "shop.parquet")), **asked)
    assert report.goals[0].variants[0].visitors > 100
    assert differences(report, analyze_frame(rows, **asked)) == []


@pytest.mark.long(seconds=90)
def test_steps_quantiles_and_segments_of_spark_are_those_of_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = wide_rows(shop_rows(1000))
    rows.write_parquet(tmp_path / "shop.parquet")
    table = spark.read.parquet(str(tmp_path / "shop.parquet"))
    asked: dict[str, Any] = {"control": "A", "goals": OTHER_GOALS, "visitor": "visitor", "timestamp": "at"}
    assert differences(analyze_frame(table, **asked), analyze_frame(rows, **asked)) == []
    asked["segments"] = ["town", "plan"]
    assert differences(analyze_frame_segments(table, **asked), analyze_frame_segments(rows, **asked)) == []


@pytest.mark.long(seconds=30)
def test_a_table_of_spark_has_the_variants_of_published_vectors(spark: SparkSession, tmp_path: Path) -> None:
    limited = [one for one in vector_frames() if one.experiment["traffic"] < 2**32]
    kinds = (("letters", vector_frames()), ("groups", vector_frames()), ("epochs", limited))
    frames = [next(one for one in found if one.group == group) for group, found in kinds]
    assert len(frames) == 3
    for place, frame in enumerate(frames):
        path = tmp_path / f"{place}.parquet"
        frame.rows.with_row_index("row").write_parquet(path)
        table = assign_frame(spark.read.parquet(str(path)), frame.experiment, **frame.arguments)
        found = {row["row"]: row["assigned_variant"] for row in table.collect()}
        assert [found[row] for row in range(len(frame.rows))] == frame.expected, frame.group


@pytest.mark.long(seconds=25)
def test_every_measure_has_the_numbers_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Rows have those of every other door: see `tests.pipeline.test_measures`."""
    rows = drawn_visitors()
    rows.write_parquet(tmp_path / "visitors.parquet")
    table = spark.read.parquet(str(tmp_path / "visitors.parquet"))
    # A funnel has no sums, so that one with it would be fetched whole.
    summed = [name for name in MADE if name != "funnel"]
    assert len(summed) > 7
    for names in (summed, ["funnel"]):
        goals = {name: MADE[name].frame for name in names}
        found, wanted = (analyze_frame(one, control="Control", goals=goals) for one in (table, rows))
        for name in names:
            assert_same(treatment(found, name), treatment(wanted, name), f"Spark, {name}")
