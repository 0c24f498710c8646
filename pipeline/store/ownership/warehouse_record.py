"""The warehouse of a catalog: its id, its folder and its owner."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from pipeline.store.catalog.database import Database
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import projects, warehouses
from pipeline.store.ownership.owner import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseRecord:
    """The warehouse with the events of a catalog's projects, and its last owner.

    `is_confirmed` once the warehouse itself has the id, too.
    """

    id: str
    folder: str
    is_confirmed: bool
    owner: Owner


class Warehouses:
    """The catalog's record of its warehouse; there is at most one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self) -> WarehouseRecord | None:
        """Return the record; None for a catalog that no warehouse belongs to yet."""
        with self._database.read() as connection:
            row = connection.execute(select(warehouses)).mappings().one_or_none()
        if row is None:
            return None
        owner = Owner(host=row["host"], pid=row["pid"], since=row["since"])
        return WarehouseRecord(
            id=row["id"], folder=row["folder"], is_confirmed=row["is_confirmed"], owner=owner
        )

    def announce(self, folder: Path) -> None:
        """Record that the warehouse of a new catalog is still to be made in `folder`.

        Otherwise a catalog with projects is taken for one whose warehouse is missing.
        """
        record = WarehouseRecord(
            id=new_id("wh"), folder=str(folder.resolve()), is_confirmed=False, owner=Owner.this_process()
        )
        with self._database.write() as connection:
            if not any(
                connection.execute(select(table).limit(1)).first() for table in (warehouses, projects)
            ):
                connection.execute(warehouses.insert().values(_columns(record)))

    def save(self, record: WarehouseRecord) -> None:
        """Replace the record, and note its warehouse with every project."""
        with self._database.write() as connection:
            connection.execute(warehouses.delete())
            connection.execute(warehouses.insert().values(_columns(record)))
            moved = projects.c.warehouse_id.is_distinct_from(record.id)
            connection.execute(projects.update().where(moved).values(warehouse_id=record.id))


def _columns(record: WarehouseRecord) -> dict[str, object]:
    values = {"id": record.id, "folder": record.folder, "is_confirmed": record.is_confirmed}
    # Its address is known later, and stands in the lock file alone.
    return values | {"host": record.owner.host, "pid": record.owner.pid, "since": record.owner.since}
