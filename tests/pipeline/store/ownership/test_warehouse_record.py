from dataclasses import replace
from pathlib import Path

from sqlalchemy import select

from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.ids import new_sdk_key
from pipeline.store.catalog.schema import projects
from pipeline.store.ownership.owner import Owner
from pipeline.store.ownership.warehouse_record import WarehouseRecord
from tests.builders import a_project


def test_a_catalog_has_one_warehouse_which_each_project_names(tmp_path: Path) -> None:
    catalog = Catalog.open(Settings(data_dir=tmp_path))
    account, _, _ = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    assert catalog.warehouses.find() is None
    first = WarehouseRecord(id="wh_1", folder="/one", is_confirmed=False, owner=Owner.this_process())
    for number, record in enumerate([first, replace(first, id="wh_2", is_confirmed=True)]):
        catalog.warehouses.save(record)
        project = a_project(id=f"prj_{number}", account_id=account.id, sdk_key=new_sdk_key())
        catalog.projects.create(project, actor="test")
        assert catalog.warehouses.find() == record
    with catalog.database.read() as connection:
        assert set(connection.scalars(select(projects.c.warehouse_id))) == {"wh_2"}
    catalog.close()
