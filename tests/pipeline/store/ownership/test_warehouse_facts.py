from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.ownership.warehouse_facts import UnreadableWarehouseError, read_facts
from pipeline.store.ownership.warehouse_id import write_id
from pipeline.store.warehouse.connection import Warehouse


def test_facts_include_what_only_the_log_has(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    write_id(warehouse, "wh_1")
    warehouse.close(with_checkpoint=False)
    log = (tmp_path / "warehouse.duckdb.wal").read_bytes()
    facts = read_facts(tmp_path / "warehouse.duckdb")
    assert (facts.id, facts.newest_seq, dict(facts.newest_seqs)) == ("wh_1", 0, {})
    assert (tmp_path / "warehouse.duckdb.wal").read_bytes() == log


def test_a_file_that_is_no_warehouse_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_text("no database")
    with pytest.raises(UnreadableWarehouseError, match="not a valid DuckDB database file") as refused:
        read_facts(tmp_path / "warehouse.duckdb")
    assert "\n" not in str(refused.value)
