import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pipeline.available_memory import available_memory
from pipeline.settings import Settings
from pipeline.store.warehouse import connection
from pipeline.store.warehouse.connection import Warehouse, WarehouseBusyError
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.store.warehouse.connections.use_time import UseTime
from tests.waiting import wait_until

# A process of its own that opens a warehouse, does something, and says so.
OPEN = """
import signal, sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse
warehouse = Warehouse.open(Settings(data_dir=Path(sys.argv[1])))
"""


@contextmanager
def a_process(data_dir: Path, script: str) -> Iterator[None]:
    """Run the script until it is ready, and kill it with signal 9 at the end of the block."""
    command = [sys.executable, "-c", OPEN + script, str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


def numbers_in(warehouse: Warehouse) -> list[int]:
    with warehouse.cursor() as cursor:
        return [row[0] for row in cursor.execute("SELECT n FROM numbers ORDER BY n").fetchall()]


def insert_then_divide_by_zero(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        cursor.execute("INSERT INTO numbers VALUES (1)")
        _ = 1 // 0


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "store")


def test_a_transaction_that_ends_is_there_after_reopening(settings: Settings) -> None:
    warehouse = Warehouse.open(settings)
    with warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers (n BIGINT)")
        cursor.execute("INSERT INTO numbers VALUES (1), (2)")
    warehouse.close()

    reopened = Warehouse.open(settings)
    assert numbers_in(reopened) == [1, 2]
    reopened.close()


def test_a_transaction_that_raises_leaves_nothing(settings: Settings) -> None:
    warehouse = Warehouse.open(settings)
    with warehouse.cursor() as cursor:
        cursor.execute("CREATE TABLE numbers (n BIGINT)")
    with pytest.raises(ZeroDivisionError):
        insert_then_divide_by_zero(warehouse)
    assert numbers_in(warehouse) == []
    warehouse.close()


def test_what_was_committed_before_a_kill_is_read_back(settings: Settings) -> None:
    script = """
with warehouse.transaction() as cursor:
    cursor.execute("CREATE TABLE numbers (n BIGINT)")
    cursor.execute("INSERT INTO numbers VALUES (7)")
with warehouse.transaction() as cursor:
    cursor.execute("INSERT INTO numbers VALUES (8)")
    print("ready", flush=True)
    signal.pause()
"""
    with a_process(settings.data_dir, script):
        pass

    warehouse = Warehouse.open(settings)
    assert numbers_in(warehouse) == [7]
    warehouse.close()


def test_a_second_process_is_told_what_to_do(settings: Settings) -> None:
    script = "print('ready', flush=True); signal.pause()"
    told = "stop it first, or use another data folder"
    with a_process(settings.data_dir, script), pytest.raises(WarehouseBusyError, match=told):
        Warehouse.open(settings)


def test_days_and_times_are_utc_whatever_the_machine_says(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    warehouse = Warehouse.open(settings)
    with warehouse.cursor() as cursor:
        assert cursor.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    warehouse.close()


def test_no_extension_is_fetched(settings: Settings) -> None:
    warehouse = Warehouse.open(settings)
    with warehouse.cursor() as cursor:
        automatic = cursor.execute(
            "SELECT value FROM duckdb_settings() "
            "WHERE name IN ('autoinstall_known_extensions', 'autoload_known_extensions')"
        ).fetchall()
    assert automatic == [("false",), ("false",)]
    warehouse.close()


def test_memory_and_threads_are_as_set(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path, duckdb_memory_limit="1GB", duckdb_threads=1))
    with warehouse.cursor() as cursor:
        limits = cursor.execute(
            "SELECT current_setting('memory_limit'), current_setting('threads')"
        ).fetchall()
    assert limits == [("953.6 MiB", 1)]
    warehouse.close()


def test_after_a_checkpoint_nothing_is_left_to_replay(settings: Settings) -> None:
    warehouse = Warehouse.open(settings)
    log = settings.warehouse_path.with_name("warehouse.duckdb.wal")
    with warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers AS SELECT 1 AS n")
    assert log.stat().st_size > 0
    warehouse.checkpoint()
    assert not log.exists() or log.stat().st_size == 0
    warehouse.close()


def test_a_checkpoint_waits_for_a_transaction_that_writes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse.open(settings)
    log = settings.warehouse_path.with_name("warehouse.duckdb.wal")
    attempts: list[int] = []
    with ThreadPoolExecutor(1) as threads, ExitStack() as writing:
        writing.enter_context(warehouse.transaction()).execute("CREATE TABLE numbers AS SELECT 1 AS n")
        checkpoint = warehouse.checkpoint

        def counted() -> bool:
            attempts.append(1)
            return checkpoint()

        monkeypatch.setattr(warehouse, "checkpoint", counted)
        done = threads.submit(warehouse.checkpoint_when_idle)
        # The transaction goes on through the first attempts, and is committed then.
        wait_until(lambda: len(attempts) > 2)
        writing.close()
        assert done.result()
    assert not log.exists() or log.stat().st_size == 0
    warehouse.close()


def test_a_checkpoint_that_is_prevented_all_the_time_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CHECKPOINT_SECONDS", 0.0)
    warehouse = Warehouse.open(settings)
    with ThreadPoolExecutor(1) as threads, warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers AS SELECT 1 AS n")
        done = threads.submit(warehouse.checkpoint_when_idle)
        with pytest.raises(WarehouseUnavailableError, match="prevent a checkpoint"):
            done.result()
    warehouse.close()


def test_without_a_setting_the_warehouse_takes_half_of_the_memory_up_to_a_limit(settings: Settings) -> None:
    warehouse = Warehouse.open(settings)
    with warehouse.cursor() as cursor:
        ((limit,),) = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    size = float(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert size == pytest.approx(min(available_memory() / 2, 1.5 * 2**30), rel=0.01)
    warehouse.close()


def test_a_smaller_cache_gives_memory_back_and_keeps_the_limit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_KEPT_CACHE", "8 MiB")
    warehouse = Warehouse.open(settings)
    with warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers AS SELECT hash(n) AS n FROM range(4_000_000) t(n)")
    warehouse.checkpoint()
    with warehouse.cursor() as cursor:
        ((total,),) = cursor.execute("SELECT bit_xor(n) FROM numbers").fetchall()
        state = "SELECT sum(memory_usage_bytes), current_setting('memory_limit') FROM duckdb_memory()"
        ((cached, limit),) = cursor.execute(state).fetchall()
        assert cached > 16 * 2**20
        warehouse.shrink_cache()
        ((kept, limit_after),) = cursor.execute(state).fetchall()
        assert kept <= 8 * 2**20
        assert limit_after == limit
        assert cursor.execute("SELECT bit_xor(n) FROM numbers").fetchall() == [(total,)]
    warehouse.close()


def test_an_idle_warehouse_gives_memory_back_and_a_busy_one_keeps_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse.open(settings)
    shrunk: list[bool] = []
    monkeypatch.setattr(warehouse, "shrink_cache", lambda: shrunk.append(True))
    now = [0.0]
    monkeypatch.setattr(warehouse, "_use", UseTime(lambda: now[0]))
    with warehouse.cursor():
        now[0] += 8.0
    now[0] += 292.0
    assert not warehouse.shrink_idle_cache()
    with warehouse.cursor():
        now[0] += 4.0
    now[0] += 296.0
    assert warehouse.shrink_idle_cache()
    assert shrunk == [True]
    warehouse.close()
