"""A table of Spark gives the report of its rows."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio
from tests.engine.frames.lazy.shop import shop_rows
from tests.engine.frames.same_reports import differences


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
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


@pytest.mark.long(seconds=35)
# PySpark looks for pandas when it fetches Arrow tables, and warns of version 3.
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_table_of_spark_gives_the_report_of_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = shop_rows(2000)
    rows.write_parquet(tmp_path / "shop.parquet")
    asked: dict[str, Any] = {
        "control": "A",
        "goals": {
            "bought": "converted",
            "spent": "revenue",
            "score per view": Ratio("score", "views", covariates="rating"),
        },
        "visitor": "visitor",
        "timestamp": "at",
        "timezone": "America/New_York",
    }
    report = analyze_frame(spark.read.parquet(str(tmp_path / "shop.parquet")), **asked)
    assert report.goals[0].variants[0].visitors > 100
    assert differences(report, analyze_frame(rows, **asked)) == []
