"""A warehouse in Spark: Parquet files are counted on its executors, and the sums are those of DuckDB."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from pipeline.runs.own_imports import import_own_source
from pipeline.sources.tables import UnreadableSourceError
from pipeline.warehouse.team_warehouse import Asked, TeamWarehouse
from tests.pipeline.warehouse.described_warehouse import SOURCE, a_warehouse, described
from tests.pipeline.working_store import WorkingStore, a_working_store

ASKED = Asked(project_id="prj_1", run_id="run_1")
LOCATION = "spark://local[2]"
pytestmark = pytest.mark.long(seconds=90)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    if shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def test_parquet_files_are_counted_by_spark_as_by_duckdb(store: WorkingStore, tmp_path: Path) -> None:
    (tmp_path / "spark").mkdir()
    on_duckdb = a_warehouse(tmp_path)
    text = SOURCE
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        for name in ("exposures", "orders"):
            file = tmp_path / "spark" / f"{name}.parquet"
            connection.execute(f"COPY {name} TO '{file}' (FORMAT parquet)")
            text = text.replace(f'table = "{name}"', f'sql = "SELECT * FROM parquet.`{file}`"')  # noqa: S608
    on_spark = described(tmp_path / "spark", LOCATION, text)
    found = []
    for defined in (on_duckdb, on_spark):
        project = store.add_project()
        (experiment,) = import_own_source(store, project, defined, lambda _stage, _done: None).experiments
        report = store.results.report(experiment, project, now=store.clock())
        found.append([one.comparison for goal in report.goals for one in goal.variants])
    assert report.goals[0].variants[0].visitors == 200
    assert found[0] == found[1]
    with pytest.raises(UnreadableSourceError, match="nowhere"):
        TeamWarehouse.of(on_spark).answer("SELECT * FROM nowhere", ASKED)
    # A session that began here has ended.
    assert SparkSession.getActiveSession() is None
