"""Limit of custom dimension keys: a project keeps the first 200 that its events have."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
import polars as pl

from pipeline.store.warehouse import events, segment_dimensions
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.segment_dimensions import CUSTOM

MOST_KEYS: Final = 200


class _Limited(NamedTuple):
    """Keys that are new, texts by the ones to store instead, and the keys dropped from each of them."""

    new_keys: list[str]
    texts: dict[str, str | None]
    dropped: dict[str, list[str]]


class CustomKeys:
    """Keys by project, in memory and in the store; for use by the one writer of events.

    The first are those of the first events by sequence number, and stay the same ever after. Those that are
    `needed` come on top of them.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        """Read the keys; those of a store by an earlier version are looked for in its events."""
        # The keys that a project needs, asked for where some would be dropped.
        self.needed: Callable[[str], Collection[str]] = lambda _: ()
        self._keys: dict[str, frozenset[str]] = {}
        with warehouse.transaction() as cursor:
            segment_dimensions.create_tables(cursor)
            for project_id in events.stored_projects(warehouse):
                self._keys_of(cursor, project_id)

    def limit(self, cursor: Cursor, project_id: str, table: pl.DataFrame) -> pl.DataFrame:
        """Drop further keys from events that are about to be stored in the transaction of `cursor`."""
        if CUSTOM not in table.columns:
            return table
        texts = table[CUSTOM].drop_nulls()
        if texts.is_empty():
            return table
        kept = self._keys_of(cursor, project_id)
        distinct = texts.unique(maintain_order=True)
        limited = _limit(distinct, kept)
        if limited.dropped and (needed := self.needed(project_id)):
            limited = _limit(distinct, kept, needed)
        counts = texts.filter(texts.is_in(list(limited.dropped))).value_counts()
        self._store(cursor, project_id, limited, dict(counts.iter_rows()))
        if not limited.texts:
            return table
        return table.with_columns(pl.col(CUSTOM).replace(limited.texts))

    def forget(self, project_id: str) -> None:
        """Read the keys of a project again when they are needed next."""
        self._keys.pop(project_id, None)

    @contextmanager
    def read_again_after_failures(self) -> Iterator[None]:
        """Read all keys again where the transaction inside the block fails: it may have undone some."""
        try:
            yield
        except BaseException:
            self._keys.clear()
            raise

    def _keys_of(self, cursor: Cursor, project_id: str) -> frozenset[str]:
        if project_id not in self._keys:
            found = segment_dimensions.read_custom_keys(cursor, project_id)
            if found is None:
                stored = events.count_custom_texts(cursor, project_id)
                self._keys[project_id] = frozenset()
                limited = _limit(stored, frozenset())
                self._store(cursor, project_id, limited, stored, is_first=True)
            else:
                self._keys[project_id] = found
        return self._keys[project_id]

    def _store(
        self,
        cursor: Cursor,
        project_id: str,
        limited: _Limited,
        counts: Mapping[str, int],
        *,
        is_first: bool = False,
    ) -> None:
        dropped = sum(len(keys) * counts[text] for text, keys in limited.dropped.items())
        if not (limited.new_keys or dropped or is_first):
            return
        example = next((keys[0] for keys in limited.dropped.values()), None)
        segment_dimensions.add_custom_keys(cursor, project_id, limited.new_keys, dropped, example)
        self._keys[project_id] |= frozenset(limited.new_keys)


def _limit(texts: Iterable[str], kept: frozenset[str], needed: Collection[str] = ()) -> _Limited:
    """Go through JSON objects in the order of their events, and take keys until there are MOST_KEYS.

    Those that are `needed` are taken beyond that, too.
    """
    keys = set(kept)
    limited = _Limited([], {}, {})
    for text in texts:
        members = members_of(text)
        further = [key for key in members if key not in keys]
        if not further:
            continue
        room = max(MOST_KEYS - len(keys), 0)
        taken = [key for place, key in enumerate(further) if place < room or key in needed]
        limited.new_keys.extend(taken)
        keys.update(taken)
        if len(taken) < len(further):
            rest = {key: value for key, value in members.items() if key in keys}
            limited.texts[text] = msgspec.json.encode(rest, order="sorted").decode() if rest else None
            limited.dropped[text] = [key for key in further if key not in keys]
    return limited


def members_of(text: str) -> dict[str, Any]:
    """Decode a JSON object; an empty one for other JSON."""
    try:
        document: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}
