"""Spark on two executors: the results of one machine, also when one of them is killed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.engine import Engine
from pipeline.distributed.event_files import UnusableEventsError, find_files
from pipeline.distributed.executor_versions import ExecutorVersionsError
from pipeline.distributed.named_frames import unpack
from pipeline.distributed.output import new_output
from pipeline.distributed.spark_cluster import SparkCluster, SparkFailedError
from pipeline.distributed.steps.shared_keys import SUMMARY, KeyStep, add_up_summaries
from pipeline.rollup.aggregates import add_up, negate
from tests.builders import NOW
from tests.pipeline.distributed.drawn_projects import CountedProject, draw
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.distributed.watched_steps import WatchedCluster
from tests.pipeline.working_store import WorkingStore

TWO_EXECUTORS = "local-cluster[2,1,1024]"
EXTENT = Extent(parts=3, at_once=1000, now=NOW)
STEP = KeyStep(parts=2, ends=(0,))


@contextmanager
def opened(files: list[Path], folder: Path, *, master: str, **settings: str) -> Iterator[SparkCluster]:
    if shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    given = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "shuffled"),
        **settings,
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_WORKER_DIR", str(folder / "executors"))
        # Java that runs for seconds spends half of them on optimizing itself.
        patched.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        with SparkCluster.open(files, master=master, settings=given) as cluster:
            yield cluster


def event_files(counted: CountedProject, folder: Path) -> list[Path]:
    """Write the events into several files, so that several tasks read them."""
    folder.mkdir()
    events = counted.events()
    for number, rows in enumerate(events.iter_slices(-(-events.height // 2))):
        rows.write_parquet(folder / f"{number}.parquet")
    return find_files(folder, counted.project.id)


def differing(counted: CountedProject, engine: WatchedCluster, folder: Path) -> list[str]:
    """Count, publish, and list the experiments whose results are not those of one machine."""
    wanted = counted.digests()
    assert min(one.digest[0] for one in wanted) > 0
    with new_output(folder / "out", replace=False) as draft:
        roll_up(engine, counted.project, counted.experiments, EXTENT, draft)
    found = counted.digests_of(folder / "out")
    return [
        one.id
        for one, before, after in zip(counted.experiments, wanted, found, strict=True)
        if before.digest != after.digest or not add_up([after.cells, negate(before.cells)]).is_empty()
    ]


def summary_of(engine: Engine) -> pl.DataFrame:
    """Number and digest of the events, of all parts."""
    found = pl.concat(engine.run(STEP)).filter(pl.col("kind") == SUMMARY)
    return add_up_summaries(pl.concat(unpack(content) for content in found["content"]))


@pytest.mark.slow
def test_a_step_gives_what_it_gives_here(store: WorkingStore, tmp_path: Path) -> None:
    counted = CountedProject.draw(store, 200)
    files = event_files(counted, tmp_path / "events")
    with opened(files, tmp_path, master="local[1]") as cluster:
        found = summary_of(cluster)
    here = summary_of(OneProcess(counted.events()))
    assert here["events"].item() > 100
    assert found.equals(here)


@pytest.mark.long(seconds=30)
def test_a_cluster_gives_the_results_of_one_machine_also_without_an_executor(
    store: WorkingStore, tmp_path: Path
) -> None:
    counted = CountedProject.draw(store, 500)
    files = event_files(counted, tmp_path / "events")
    (tmp_path / "watched").mkdir()
    with opened(files, tmp_path, master=TWO_EXECUTORS) as cluster:
        # Its last step has the parts of visitors.
        engine = WatchedCluster(cluster, tmp_path / "watched", killed="visitors")
        assert differing(counted, engine, tmp_path) == []
    assert (tmp_path / "watched" / "killed").exists()
    # A third one may have come in the place of the killed one.
    assert engine.executors() >= 2


@pytest.mark.long(seconds=25)
def test_a_visitor_with_most_of_the_events_is_counted(store: WorkingStore, tmp_path: Path) -> None:
    counted = CountedProject.draw(store, 500, seed=3)
    rng = np.random.default_rng(4)
    store.write(counted.project, *(draw(rng, counted.experiments, 1, 20_000) for _ in range(20_000)))
    # Results that are final would not count these.
    store.rollup.forget([one.id for one in counted.experiments])
    store.rollup.refresh(counted.project.id)
    files = event_files(counted, tmp_path / "events")
    (tmp_path / "watched").mkdir()
    with opened(files, tmp_path, master=TWO_EXECUTORS) as cluster:
        engine = WatchedCluster(cluster, tmp_path / "watched")
        assert differing(counted, engine, tmp_path) == []
    assert engine.executors() == 2


@pytest.mark.long(seconds=15)
def test_other_versions_on_executors_are_named(store: WorkingStore, tmp_path: Path) -> None:
    counted = CountedProject.draw(store, 20)
    files = event_files(counted, tmp_path / "events")
    other = tmp_path / "packages" / "polars-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: polars\nVersion: 0.1\n")
    settings = {"spark.executorEnv.PYTHONPATH": str(other.parent)}
    with (
        opened(files, tmp_path, master=TWO_EXECUTORS, **settings) as cluster,
        pytest.raises(ExecutorVersionsError, match=r"polars is 0\.1 there and .* here; give every executor"),
    ):
        list(cluster.run(STEP))


@pytest.mark.long(seconds=15)
def test_errors_of_executors_are_told_as_here(store: WorkingStore, tmp_path: Path) -> None:
    counted = CountedProject.draw(store, 20)
    files = event_files(counted, tmp_path / "events")
    with opened([*files, files[0]], tmp_path, master=TWO_EXECUTORS) as cluster:
        with (
            pytest.raises(UnusableEventsError, match="the same events in two files"),
            new_output(tmp_path / "out", replace=False) as draft,
        ):
            roll_up(cluster, counted.project, counted.experiments, EXTENT, draft)
        for path in files:
            path.unlink()
        with pytest.raises(SparkFailedError, match="given up"):
            pl.concat(cluster.run(STEP))
