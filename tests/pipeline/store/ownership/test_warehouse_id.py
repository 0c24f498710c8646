from pathlib import Path

from pipeline.settings import Settings
from pipeline.store.ownership.warehouse_id import read_id, write_id
from pipeline.store.warehouse.connection import Warehouse


def test_a_warehouse_keeps_its_id(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    warehouse = Warehouse.open(settings)
    assert read_id(warehouse) is None
    write_id(warehouse, "wh_1")
    write_id(warehouse, "wh_2")
    warehouse.close()
    warehouse = Warehouse.open(settings)
    assert read_id(warehouse) == "wh_2"
    warehouse.close()
