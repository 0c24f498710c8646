"""A person who is being erased: keys, ids, and the segment values that no other visitor has."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import polars as pl

from engine.typed_records import record_from_json
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.erasure.erased_events import read_ids
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.erasure.segment_texts import texts_of_nobody_else
from pipeline.store.warehouse.visitors import count_rows_of

_PENDING: Final = "pending_erasures"
_BLANKED: Final = "earlier_erasures_blanked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedPerson:
    """A person of a project, as it was stored before it was erased.

    `ids` are its visitor and user ids, and `events` those numbered up to `until`. `segments` are the pairs of
    dimension and value that it alone had, by the id of each experiment with a row of it. Those of `recounted`
    are counted again; those of `sums_kept` are final, and had a row. `experiments` are all of the project.
    `receipt_id` is that of the erasure that `actor` asked for.
    """

    project_id: str
    visitor_keys: tuple[int, ...]
    user_keys: tuple[int, ...]
    until: int
    ids: tuple[str, ...] = ()
    events: int = 0
    segments: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    recounted: tuple[str, ...] = ()
    sums_kept: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    receipt_id: str = ""
    actor: str = ""

    @property
    def person(self) -> PersonIds:
        """The keys as columns."""
        return PersonIds(_keys(self.visitor_keys), _keys(self.user_keys))

    @property
    def is_stored(self) -> bool:
        """Whether anything of the person was stored."""
        return bool(self.events or self.recounted or self.sums_kept)

    def with_id(self, person_id: str) -> "ErasedPerson":
        """Add an id by which the person was asked for."""
        return replace(self, ids=tuple(dict.fromkeys((*self.ids, person_id))))

    @property
    def texts(self) -> frozenset[str]:
        """All texts that are the person's alone."""
        return frozenset(self.ids).union(value for pairs in self.segments.values() for _, value in pairs)


def describe_person(  # noqa: PLR0913  # everything that a person is looked for in
    cursor: Cursor,
    project_id: str,
    person: PersonIds,
    *,
    until: int,
    events: int,
    open_ids: Collection[str],
    final_ids: Collection[str],
) -> ErasedPerson:
    """Read what is stored of a person, and of nobody else; its `events` are in `erased_events`."""
    keys = person.all_keys
    with_rows = [one for one in (*open_ids, *final_ids) if count_rows_of(cursor, one, keys)]
    return ErasedPerson(
        project_id=project_id,
        visitor_keys=tuple(person.visitor_keys),
        user_keys=tuple(person.user_keys),
        until=until,
        ids=read_ids(cursor, project_id) if events else (),
        events=events,
        segments={one: texts_of_nobody_else(cursor, one, keys) for one in with_rows},
        # Others' orders may count once the person's are gone, wherever they are.
        recounted=tuple(open_ids) if events or with_rows else (),
        sums_kept=tuple(one for one in final_ids if one in with_rows),
        experiments=(*open_ids, *final_ids) if events or with_rows else (),
    )


def note_pending(cursor: Cursor, erased: ErasedPerson) -> None:
    """Note in the transaction that removes a person that traces outside of it are still to be removed."""
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_PENDING} (project_id VARCHAR, content BLOB)")
    content = msgspec.json.encode(erased)
    cursor.execute(f"INSERT INTO {_PENDING} VALUES (?, ?)", [erased.project_id, content])


def read_pending(cursor: Cursor, project_id: str | None = None) -> list[ErasedPerson]:
    """Read the persons of a project, or of all, whose erasure ended halfway."""
    if not table_exists(cursor, _PENDING):
        return []
    of_project, values = ("", []) if project_id is None else ("WHERE project_id = ?", [project_id])
    rows = cursor.execute(f"SELECT content FROM {_PENDING} {of_project}", values).fetchall()
    return [record_from_json(bytes(content), ErasedPerson) for (content,) in rows]


def forget_pending(cursor: Cursor, project_id: str) -> None:
    """Remove the notes of a project: nothing is left of the persons."""
    if table_exists(cursor, _PENDING):
        cursor.execute(f"DELETE FROM {_PENDING} WHERE project_id = ?", [project_id])


def are_earlier_blanked(cursor: Cursor) -> bool:
    """Tell whether texts that erasures of earlier versions left were blanked."""
    return table_exists(cursor, _BLANKED)


def note_earlier_blanked(cursor: Cursor) -> None:
    """Note that these texts were blanked, once a store."""
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_BLANKED} (since BIGINT)")


def _keys(keys: tuple[int, ...]) -> pl.Series:
    return pl.Series("key", keys, pl.UInt64)
