"""Search for a text, and for the keys of ids, in every byte of a data folder, decompressed."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import msgspec
import polars as pl
from sqlalchemy import create_engine, select

from pipeline.encryption_key import open_cipher
from pipeline.settings import Settings
from pipeline.store.catalog.schema import metadata
from tests.pipeline.uncompressed_copies import uncompressed

# The file of a catalog or a warehouse, by its name.
DATABASES = ("warehouse.duckdb", "catalog.sqlite3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A text that is in everything of a person, and the keys of its ids."""

    token: str
    keys: Sequence[int]

    def is_in(self, content: bytes) -> bool:
        """Tell whether bytes have the text, in capitals or not, or a key."""
        # In files of keys of fewer than 256 events the lowest byte is the place of the event.
        keys = (key.to_bytes(8, "little")[1:] for key in self.keys)
        return self.token.encode() in content.lower() or any(key in content for key in keys)

    def has(self, value: object) -> bool:
        """Tell whether a value of a database is, or has, the text or a key."""
        if isinstance(value, bytes | bytearray):
            return self.is_in(bytes(value))
        return value in self.keys or self.token in str(value).lower()


def places_of(all_sought: Sequence[Sought], folder: Path, copies: Path) -> dict[str, set[str]]:
    """List by token where each is: columns `table.column` of both databases, and paths of other files."""
    places: dict[str, set[str]] = {sought.token: set() for sought in all_sought}
    for found in (_columns(all_sought, folder), _files(all_sought, folder, copies)):
        for token, place in found:
            places[token].add(place)
    return places


def tables_of(folder: Path) -> dict[str, list[str]]:
    """List the tables of the warehouse with their columns."""
    with duckdb.connect(folder / "warehouse.duckdb", read_only=True) as connection:
        found = connection.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal")
        tables: dict[str, list[str]] = {}
        for table, column in found.fetchall():
            tables.setdefault(table, []).append(column)
    return tables


def _columns(all_sought: Sequence[Sought], folder: Path) -> Iterator[tuple[str, str]]:
    with duckdb.connect(folder / "warehouse.duckdb", read_only=True) as connection:
        for table, names in tables_of(folder).items():
            rows = connection.execute(f'FROM "{table}"').fetchall()
            for place, name in enumerate(names):
                values = [_plain(row[place]) for row in rows]
                for sought in all_sought:
                    if any(map(sought.has, values)):
                        yield sought.token, f"{table}.{name}"
    engine = create_engine(f"sqlite:///{folder / 'catalog.sqlite3'}")
    cipher = open_cipher(Settings(data_dir=folder))
    with engine.connect() as connection:
        for stored in metadata.sorted_tables:
            for row in connection.execute(select(stored)).mappings():
                for name, value in row.items():
                    is_sealed = (stored.name, name) == ("replies", "sealed") and value is not None
                    plain = cipher.decrypt(value) if is_sealed else value
                    shown = plain if isinstance(plain, bytes) else msgspec.json.encode(plain)
                    for sought in all_sought:
                        if sought.is_in(shown):
                            yield sought.token, f"{stored.name}.{name}"
    engine.dispose()


def _plain(value: object) -> object:
    try:
        return zlib.decompress(value) if isinstance(value, bytes) else value
    except zlib.error:
        return value


def _files(all_sought: Sequence[Sought], folder: Path, copies: Path) -> Iterator[tuple[str, str]]:
    for path in (one for one in sorted(folder.rglob("*")) if one.is_file()):
        content = uncompressed(path, copies)
        for sought in all_sought:
            if sought.is_in(content):
                yield sought.token, path.relative_to(folder).as_posix()


def in_answer(sought: Sought, content: bytes, copies: Path) -> bool:
    """Tell whether an answer, which may be a Parquet file, has it."""
    if not content.startswith(b"PAR1"):
        return sought.is_in(content)
    path = copies / "answer.parquet"
    path.write_bytes(content)
    return any(sought.has(value) for row in pl.read_parquet(path).iter_rows() for value in row)
