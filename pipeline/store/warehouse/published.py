"""Records of published results, and reports of past nights."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import polars as pl

from pipeline.store.warehouse import kept_interactions
from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.visitors import TABLES, result_table

_ROLLUPS: Final = "published_rollups"
_KEPT: Final = "kept_nights"
# In the place of the fingerprint of final results whose events are gone.
SEALED: Final = "sealed"


class Published(NamedTuple):
    """Record of an experiment's published result tables.

    They count every event numbered up to `covered_seq`, as of `as_of` (microseconds since 1970). `variants`
    and `goals` are ids by position in the tables; `dimensions` are those in the aggregates. Final results
    are never counted again. `sums_from` names who counted the sums where that was not this service, which
    then has no row of a visitor, and `sums_digest` is of their content.
    """

    experiment_id: str
    fingerprint: str
    rules: str
    covered_seq: int
    as_of: int
    last_exposed_at: int | None
    variants: tuple[str, ...]
    goals: tuple[str, ...]
    dimensions: tuple[str, ...]
    is_final: bool
    sums_from: str | None = None
    sums_digest: str | None = None


_RECORD: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "experiment_id": pl.String,
    "fingerprint": pl.String,
    "rules": pl.String,
    "covered_seq": pl.Int64,
    "as_of": pl.Int64,
    "last_exposed_at": pl.Int64,
    "variants": pl.List(pl.String),
    "goals": pl.List(pl.String),
    "dimensions": pl.List(pl.String),
    "is_final": pl.Boolean,
    "sums_from": pl.String,
    "sums_digest": pl.String,
}


def create_tables(cursor: Cursor) -> None:
    """Create the tables unless they exist: reads create nothing."""
    cursor.execute(
        f"""
        CREATE TABLE IF NOT EXISTS {_ROLLUPS} (
          experiment_id VARCHAR, fingerprint VARCHAR, rules VARCHAR, covered_seq BIGINT, as_of BIGINT,
          last_exposed_at BIGINT, variants VARCHAR[], goals VARCHAR[], dimensions VARCHAR[], is_final BOOLEAN
        )
        """
    )
    for name in ("sums_from", "sums_digest"):
        cursor.execute(f"ALTER TABLE {_ROLLUPS} ADD COLUMN IF NOT EXISTS {name} VARCHAR")
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_KEPT} (experiment_id VARCHAR, day DATE, content BLOB)")
    kept_interactions.create_table(cursor)
    # Of earlier versions: the catalog has what is owed.
    cursor.execute("DROP TABLE IF EXISTS nightly_rollups")


def find(cursor: Cursor, experiment_id: str) -> Published | None:
    """Find the record of an experiment; None if nothing is published."""
    return next(iter(_find(cursor, "experiment_id = ?", experiment_id)), None)


def find_all(cursor: Cursor, experiment_ids: Collection[str]) -> dict[str, Published]:
    """Find the records of experiments with published results, by id."""
    found = _find(cursor, "experiment_id IN (SELECT unnest(?))", list(experiment_ids))
    return {one.experiment_id: one for one in found}


def _find(cursor: Cursor, condition: str, value: object) -> list[Published]:
    rows = cursor.execute(f"SELECT * FROM {_ROLLUPS} WHERE {condition}", [value]).fetchall()
    fields: list[list[Any]] = [
        [tuple(value) if isinstance(value, list) else value for value in row] for row in rows
    ]
    return [Published(*row) for row in fields]


def list_experiments(warehouse: Warehouse) -> list[str]:
    """List the ids of experiments with published results."""
    with warehouse.cursor() as cursor:
        return [
            experiment_id
            for (experiment_id,) in cursor.execute(f"SELECT experiment_id FROM {_ROLLUPS}").fetchall()
        ]


def publish(cursor: Cursor, published: Sequence[Published]) -> None:
    """Replace the records of experiments, in the transaction that replaces their tables."""
    records = FrameStream(pl.DataFrame(published, _RECORD, orient="row"))  # noqa: F841
    cursor.execute(f"DELETE FROM {_ROLLUPS} WHERE experiment_id IN (SELECT experiment_id FROM records)")
    cursor.execute(f"INSERT INTO {_ROLLUPS} BY NAME SELECT * FROM records")


def cover(cursor: Cursor, records: Sequence[Published]) -> None:
    """Note how far results count the events, and what else the records say of these; their tables stay."""
    if not records:
        return
    covered = FrameStream(pl.DataFrame(records, _RECORD, orient="row"))  # noqa: F841
    cursor.execute(
        f"UPDATE {_ROLLUPS} r SET covered_seq = c.covered_seq, as_of = c.as_of, is_final = c.is_final, "
        "last_exposed_at = c.last_exposed_at FROM covered c WHERE r.experiment_id = c.experiment_id"
    )


def add_dimensions(cursor: Cursor, experiment_id: str, names: Collection[str]) -> None:
    """Note that the sums of an experiment have these dimensions, too."""
    cursor.execute(
        f"UPDATE {_ROLLUPS} SET dimensions = list_sort(list_concat(dimensions, $names)) "
        "WHERE experiment_id = $id",
        {"names": list(names), "id": experiment_id},
    )


def require_recount(cursor: Cursor, experiment_ids: Collection[str]) -> None:
    """Have the next run count experiments from the first event on; until then their results stay."""
    cursor.execute(
        f"UPDATE {_ROLLUPS} SET fingerprint = '' WHERE experiment_id IN (SELECT unnest($ids))",
        {"ids": list(experiment_ids)},
    )


def seal(cursor: Cursor, experiment_ids: Collection[str]) -> None:
    """Note that events of final results are gone: they are not counted again in another time zone, either."""
    cursor.execute(
        f"UPDATE {_ROLLUPS} SET fingerprint = '{SEALED}' "
        "WHERE experiment_id IN (SELECT unnest($ids)) AND is_final",
        {"ids": list(experiment_ids)},
    )


def list_sealed(cursor: Cursor) -> list[str]:
    """List the experiments whose events may be gone."""
    query = f"SELECT experiment_id FROM {_ROLLUPS} WHERE fingerprint = '{SEALED}'"
    return [experiment_id for (experiment_id,) in cursor.execute(query).fetchall()]


def withdraw(cursor: Cursor, experiment_id: str) -> None:
    """Remove the record and the result tables of an experiment."""
    cursor.execute(f"DELETE FROM {_ROLLUPS} WHERE experiment_id = ?", [experiment_id])
    remove_kept(cursor, experiment_id)
    kept_interactions.remove(cursor, experiment_id)
    for kind in TABLES:
        cursor.execute(f"DROP TABLE IF EXISTS {result_table(kind, experiment_id)}")


def keep_night(cursor: Cursor, experiment_id: str, day: date, content: bytes) -> None:
    """Keep the report of an experiment for a night, unless one of that night is kept."""
    if find_kept(cursor, experiment_id, day) is None:
        cursor.execute(f"INSERT INTO {_KEPT} VALUES (?, ?, ?)", [experiment_id, day, content])


def replace_night(cursor: Cursor, experiment_id: str, day: date, content: bytes) -> None:
    """Replace the report of a night that is kept."""
    update = f"UPDATE {_KEPT} SET content = $content WHERE experiment_id = $id AND day = $day"
    cursor.execute(update, {"content": content, "id": experiment_id, "day": day})


def find_kept(cursor: Cursor, experiment_id: str, day: date) -> bytes | None:
    """Find the report of an experiment for a night; None where it is not kept."""
    query = f"SELECT content FROM {_KEPT} WHERE experiment_id = ? AND day = ?"
    rows = cursor.execute(query, [experiment_id, day]).fetchall()
    return bytes(rows[0][0]) if rows else None


def list_kept(cursor: Cursor, experiment_id: str) -> list[date]:
    """List the nights that are kept of an experiment, in order."""
    query = f"SELECT day FROM {_KEPT} WHERE experiment_id = ? ORDER BY day"
    return [day for (day,) in cursor.execute(query, [experiment_id]).fetchall()]


def remove_kept(
    cursor: Cursor, experiment_id: str, *, before: date = date.max, after: date = date.min
) -> None:
    """Remove the nights of an experiment, all of them or those before or after a day."""
    remove = f"DELETE FROM {_KEPT} WHERE experiment_id = ? AND day < ? AND day > ?"
    cursor.execute(remove, [experiment_id, before, after])
