"""Segment values of a person alone: found before, and blanked once the person is gone.

A completed experiment keeps its numbers: the person's row stays under a key that is no hash of an id, and a
value that nobody else had is ERASED from then on, in the row and in the sums.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import aggregates, extremes
from pipeline.store.warehouse.connection import Cursor, registered
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, json_pointer
from pipeline.store.warehouse.visitors import UNIT_KEY, has_units, result_table

ERASED: Final = "(erased)"
# Rows of erased persons have keys from 0 on. Of 50 million hashes of ids one is as low in 300,000 stores.
ERASED_KEYS: Final = 2**20
# Begins what is stored in the place of a text with a code that no row has.
_MARK: Final = '{"erased":'
# Words of a closed list name nobody.
_FREE: Final = tuple(name for name, dimension in DIMENSIONS.items() if not dimension.values)
_OF_PERSON: Final = "visitor_key IN (FROM erased_keys)"
_OF_OTHERS: Final = f"(visitor_key NOT IN (FROM erased_keys) AND visitor_key >= {ERASED_KEYS})"


def texts_of_nobody_else(cursor: Cursor, experiment_id: str, keys: pl.Series) -> tuple[tuple[str, str], ...]:
    """List each dimension and value that visitors with the keys have, and no other that is not erased."""
    _list_keys(cursor, keys)
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    found: list[tuple[str, str]] = []
    for name in _FREE:
        theirs = f"SELECT {name} FROM {rows} WHERE {_OF_PERSON} AND {name} IS NOT NULL"
        others = f"SELECT {name} FROM {rows} WHERE {name} IN ({theirs}) AND {_OF_OTHERS}"
        query = (
            f"SELECT value FROM {values} WHERE dimension = '{name}' AND code IN ({theirs}) "
            f"AND code NOT IN ({others}) ORDER BY value"
        )
        found += [(name, value) for (value,) in cursor.execute(query).fetchall()]
    theirs = f"SELECT {CUSTOM} FROM {rows} WHERE {_OF_PERSON} AND {CUSTOM} IS NOT NULL"
    query = f"SELECT value FROM {values} WHERE dimension = '{CUSTOM}' AND code IN ({theirs})"
    texts = [text for (text,) in cursor.execute(query).fetchall()]
    found += _members_of_no_other(cursor, values, texts, f"FROM {rows} WHERE {_OF_OTHERS}")
    return tuple((name, value) for name, value in found if value != ERASED)


def texts_of_nobody(cursor: Cursor, experiment_id: str) -> tuple[tuple[str, str], ...]:
    """List each dimension and value that no visitor has any more who is not erased."""
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    found: list[tuple[str, str]] = []
    unused = {
        name: f"""
            SELECT value FROM {values} WHERE dimension = '{name}' AND NOT starts_with(value, '{_MARK}')
              AND code NOT IN (SELECT {name} FROM {rows}
                WHERE {name} IS NOT NULL AND visitor_key >= {ERASED_KEYS})
        """
        for name in (*_FREE, CUSTOM)
    }
    for name in _FREE:
        found += [(name, value) for (value,) in cursor.execute(unused[name]).fetchall()]
    texts = [text for (text,) in cursor.execute(unused[CUSTOM]).fetchall()]
    found += _members_of_no_other(cursor, values, texts, f"FROM {rows} WHERE visitor_key >= {ERASED_KEYS}")
    return tuple((name, value) for name, value in found if value != ERASED)


def blank_kept_values(cursor: Cursor, experiment_id: str, texts: Sequence[tuple[str, str]]) -> None:
    """Write ERASED in the place of segment values of a completed experiment."""
    values = result_table("segment_values", experiment_id)
    for dimension, value in texts:
        key = dimension.removeprefix(CUSTOM_PREFIX)
        if key == dimension:
            _blank_value(cursor, experiment_id, dimension, value)
            continue
        query = (
            f"SELECT code, value FROM {values} WHERE dimension = '{CUSTOM}' "
            "AND json_extract_string(value, ?) = ?"
        )
        for code, text in cursor.execute(query, [json_pointer(key), value]).fetchall():
            blanked = json.dumps({**json.loads(text), key: ERASED}, ensure_ascii=False)
            cursor.execute(
                f"UPDATE {values} SET value = ? WHERE dimension = '{CUSTOM}' AND code = ?", [blanked, code]
            )


def blank_kept_sums(cursor: Cursor, experiment_id: str, texts: Sequence[tuple[str, str]]) -> None:
    """Write ERASED in the place of segment values in the sums of a completed experiment, which add up."""
    table = result_table("aggregates", experiment_id)
    for text in texts:
        cursor.execute(f"UPDATE {table} SET value = ? WHERE dimension = ? AND value = ?", [ERASED, *text])
    if texts:
        # One row a cell.
        aggregates.replace(cursor, experiment_id, aggregates.read_all(cursor, experiment_id))


def release_rows(cursor: Cursor, experiment_id: str, keys: pl.Series) -> None:
    """Give the rows of a person keys that are no hash of an id, and no address; the numbers stay."""
    rows, orders = (result_table(kind, experiment_id) for kind in ("visitors", "orders"))
    ((given,),) = cursor.execute(
        f"SELECT coalesce(max(visitor_key) + 1, 0) FROM {rows} WHERE visitor_key < {ERASED_KEYS}"
    ).fetchall()
    new = pl.DataFrame({"key": keys, "number": pl.int_range(given, given + len(keys), eager=True)})
    with registered(cursor, "released", new.cast({"number": pl.UInt64})):
        ((released,),) = cursor.execute(
            f"UPDATE {rows} SET visitor_key = r.number, address_key = NULL FROM released r "
            "WHERE visitor_key = r.key"
        ).fetchall()
        cursor.execute(
            f"UPDATE {orders} SET visitor_key = r.number FROM released r WHERE visitor_key = r.key"
        )
        if released:
            extremes.release(cursor, experiment_id)
    if has_units(cursor, experiment_id):
        # A unit of erased persons alone, such as a user, stays one, under a key that is no hash of its id.
        cursor.execute(
            f"""
            UPDATE {rows} SET {UNIT_KEY} = n.number FROM (
              SELECT {UNIT_KEY} AS unit, min(visitor_key) AS number FROM {rows}
              WHERE {UNIT_KEY} >= {ERASED_KEYS} GROUP BY ALL HAVING max(visitor_key) < {ERASED_KEYS}
            ) n WHERE {UNIT_KEY} = n.unit
            """
        )


def blank_unused_values(cursor: Cursor, experiment_id: str) -> None:
    """Overwrite the texts of segments that no visitor of an experiment has, in its sums, too.

    Their codes are not given again, so that the codes of rows keep their meaning.
    """
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    for name in (*DIMENSIONS, CUSTOM):
        # No member of a custom dimension that is a number is a segment.
        cursor.execute(
            f"""
            UPDATE {values} SET value = '{_MARK}' || code || '}}'
            WHERE dimension = '{name}' AND code NOT IN (SELECT {name} FROM {rows} WHERE {name} IS NOT NULL)
            """
        )
    aggregates.replace(cursor, experiment_id, aggregates.read_all(cursor, experiment_id))


def count_values_of(cursor: Cursor, experiment_id: str, texts: Sequence[tuple[str, str]]) -> int:
    """Count the segment values of an experiment that are, or have, one of these texts."""
    values, found = result_table("segment_values", experiment_id), 0
    for dimension, value in texts:
        key = dimension.removeprefix(CUSTOM_PREFIX)
        is_custom = key != dimension
        text = "json_extract_string(value, ?)" if is_custom else "value"
        given = [CUSTOM, json_pointer(key), value] if is_custom else [dimension, value]
        query = f"SELECT count(*) FROM {values} WHERE dimension = ? AND {text} = ?"
        found += int(cursor.execute(query, given).fetchall()[0][0])
    return found


def count_sums_of(cursor: Cursor, experiment_id: str, texts: Sequence[tuple[str, str]]) -> int:
    """Count the sums of an experiment by one of these texts."""
    query = (
        f"SELECT count(*) FROM {result_table('aggregates', experiment_id)} WHERE dimension = ? AND value = ?"
    )
    return sum(int(cursor.execute(query, [*text]).fetchall()[0][0]) for text in texts)


def digest_texts(cursor: Cursor, experiment_id: str) -> int:
    """Compute a number that differs after each erasure of a visitor of a completed experiment."""
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    query = f"""
        SELECT (SELECT coalesce(bit_xor(hash(dimension, code, value)), 0) FROM {values})
          + (SELECT count(*) FROM {rows} WHERE visitor_key < {ERASED_KEYS})
    """
    return int(cursor.execute(query).fetchall()[0][0])


def _blank_value(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> None:
    """Blank a value, whose rows get the code of ERASED where there is one already."""
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    query = f"SELECT code FROM {values} WHERE dimension = ? AND value = ?"
    ((code,),) = cursor.execute(query, [dimension, value]).fetchall()
    before = cursor.execute(query, [dimension, ERASED]).fetchall()
    text = f"{_MARK}{code}}}" if before else ERASED
    cursor.execute(f"UPDATE {values} SET value = ? WHERE dimension = ? AND code = ?", [text, dimension, code])
    if before:
        cursor.execute(f"UPDATE {rows} SET {dimension} = ? WHERE {dimension} = ?", [before[0][0], code])


def _members_of_no_other(
    cursor: Cursor, values: str, texts: Sequence[str], others: str
) -> Iterator[tuple[str, str]]:
    """Yield the custom dimensions and values in JSON texts that the rows `others` do not have."""
    query = f"""
        SELECT 1 FROM {values} WHERE dimension = '{CUSTOM}' AND json_extract_string(value, ?) = ?
          AND code IN (SELECT {CUSTOM} {others} AND {CUSTOM} IS NOT NULL) LIMIT 1
    """
    for key, value in sorted({pair for text in texts for pair in _texts_in(text)}):
        if not cursor.execute(query, [json_pointer(key), value]).fetchall():
            yield CUSTOM_PREFIX + key, value


def _texts_in(text: str) -> Iterator[tuple[str, str]]:
    document: Any = json.loads(text)
    yield from ((key, value) for key, value in document.items() if isinstance(value, str))


def _list_keys(cursor: Cursor, keys: pl.Series) -> None:
    with registered(cursor, "given_keys", keys.alias("key").to_frame()):
        cursor.execute("CREATE OR REPLACE TEMP TABLE erased_keys AS FROM given_keys")
