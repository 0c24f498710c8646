"""Locations of tables: files, patterns, partitioned folders, lakes, databases and S3."""

import glob
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from pipeline.sources.databases import POSTGRESQL, WAREHOUSES, DatabaseTable
from pipeline.sources.disk_files import FORMATS, FileTable
from pipeline.sources.lakes import DeltaTable, IcebergTable
from pipeline.sources.tables import Table, UnreadableSourceError
from pipeline.store.source_databases.queries import Query

_S3: Final = "s3://"
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_UNKNOWN_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
_ICEBERG: Final = "iceberg://"
_METADATA: Final = ".metadata.json"
_HINT: Final = "version-hint.text"
_DELTA_VERSION: Final = re.compile(r"(.+)@v(\d+)/?\Z")


def find_tables(locations: Sequence[str], *, query: Query | None = None, base: Path = Path()) -> list[Table]:
    """Find the tables at locations, whose paths are relative to `base`, in order.

    `${NAME}` is replaced by that variable of the environment. A DuckDB file and PostgreSQL need a `query`.

    Raises:
        UnreadableSourceError: there is nothing, something else, or one file twice.
    """
    found: list[Table] = []
    for location in locations:
        found.extend(_tables_at(with_variables(location), query, base))
    _require_distinct(found)
    return _with_short_names(found)


def is_url(location: str) -> bool:
    """Tell whether a location is an address, and no path."""
    return location.startswith((*POSTGRESQL, *WAREHOUSES, _S3, _ICEBERG))


def _tables_at(location: str, query: Query | None, base: Path) -> Sequence[Table]:
    if location.startswith(POSTGRESQL):
        name = _without_credentials(location)
        return [DatabaseTable(location, _required(query, name), name)]
    if location.startswith(WAREHOUSES):
        return [_of_warehouse(location, query)]
    path = base / location
    is_database = location.lower().endswith(".duckdb")
    if is_database:
        if not path.is_file():
            raise UnreadableSourceError(f"there is no file {path}")
        return [DatabaseTable(path, _required(query, path.name), path.name)]
    if query is not None:
        raise UnreadableSourceError(
            f"{location} takes no --table or --sql; they are for .duckdb files and postgresql:// addresses"
        )
    if location.startswith(_ICEBERG):
        return [_of_catalog(location)]
    return _s3_tables(location) if location.startswith(_S3) else _local_tables(path, location)


def _of_warehouse(location: str, query: Query | None) -> DatabaseTable:
    name = re.sub(r"://[^/]*@", "://", location).partition("?")[0]
    if query is None or query.sql is None:
        raise UnreadableSourceError(f"{name} is a warehouse; give a query in its dialect by --sql")
    return DatabaseTable(location, query, name)


def _of_catalog(location: str) -> IcebergTable:
    catalog, _, table = location.removeprefix(_ICEBERG).partition("/")
    if not catalog or "." not in table or "/" in table:
        raise UnreadableSourceError(f"{location} names no table; write iceberg://CATALOG/NAMESPACE.TABLE")
    # PyArrow takes half a second to load.
    from pipeline.sources.object_store import iceberg_options  # noqa: PLC0415

    return IcebergTable(table, location, iceberg_options(), catalog=catalog)


def _require_hint(names: Collection[str], location: str) -> None:
    """Raise UnreadableSourceError where only a catalog knows the current metadata file."""
    if _HINT not in names:
        raise UnreadableSourceError(
            f"{location} is an Iceberg table, and only its catalog knows the current state; name it as "
            "iceberg://CATALOG/NAMESPACE.TABLE, or name one of its metadata files"
        )


def _without_credentials(location: str) -> str:
    """Name a URL of PostgreSQL by its host, port and database.

    UnreadableSourceError where the end of the password is in doubt; its message has nothing of the URL.
    """
    try:
        address = urlsplit(location)
    except ValueError:
        raise _ambiguous_url() from None
    credentials, _, host = address.netloc.rpartition("@")
    if "@" in f"{credentials}{address.path}{address.query}{address.fragment}":
        raise _ambiguous_url()
    return f"postgresql://{host}{address.path}"


def _ambiguous_url() -> UnreadableSourceError:
    return UnreadableSourceError(
        "the PostgreSQL URL has a character in it that ends a part of it; percent-encode the password "
        "(/ as %2F, @ as %40), or name it by ${VARIABLE} or PGPASSWORD"
    )


def _required(query: Query | None, name: str) -> Query:
    if query is None or (query.table is None) == (query.sql is None):
        raise UnreadableSourceError(
            f"{name} is a database; name its table by --table, or give a query by --sql"
        )
    return query


def _local_lake(path: Path, location: str) -> Table | None:
    """Find the table of a lake at a path, if that is one."""
    if (path / "_delta_log").is_dir():
        return DeltaTable(str(path), path.name, {})
    versioned = _DELTA_VERSION.match(str(path))
    if versioned and (Path(versioned[1]) / "_delta_log").is_dir():
        return DeltaTable(versioned[1], path.name, {}, version=int(versioned[2]))
    if path.is_dir() and any((path / "metadata").glob(f"*{_METADATA}")):
        _require_hint([file.name for file in (path / "metadata").iterdir()], location)
        return IcebergTable(str(path), path.name, {})
    if path.name.endswith(_METADATA) and path.is_file():
        return IcebergTable(str(path), path.name, {})
    return None


def _local_tables(path: Path, location: str) -> Sequence[Table]:
    if lake := _local_lake(path, location):
        return [lake]
    if path.is_dir():
        inside = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()]
        return _of_folder(
            [
                FileTable(path / file, str(path / file), _partition(file.parts[:-1]))
                for file in inside
                if _is_data(file.parts)
            ],
            location,
        )
    if glob.has_magic(location) and not path.exists():
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - of an absolute pattern too
        files = [Path(match) for match in matches if Path(match).is_file()]
        return _of_folder(
            [FileTable(file, str(file), _partition(file.parts[:-1])) for file in files], location
        )
    return [FileTable(path, str(path))]


def _of_folder(found: Sequence[Table], location: str) -> Sequence[Table]:
    if not found:
        raise UnreadableSourceError(f"no .csv or .parquet file is at {location}")
    return found


def _s3_tables(location: str) -> Sequence[Table]:
    # PyArrow takes half a second to load.
    from pipeline.sources.object_store import (  # noqa: PLC0415
        ObjectTable,
        delta_options,
        find_object,
        iceberg_options,
        list_objects,
    )

    key = location.removeprefix(_S3).rstrip("/")
    if "@" in key.partition("/")[0]:
        raise UnreadableSourceError(
            "an address on S3 has no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if key.endswith(_METADATA):
        return [IcebergTable(location, location, iceberg_options())]
    if versioned := _DELTA_VERSION.match(key):
        found = f"{_S3}{versioned[1]}"
        return [DeltaTable(found, location, delta_options(), version=int(versioned[2]))]
    if key.lower().endswith(FORMATS) and not glob.has_magic(key):
        return _of_folder([ObjectTable(one, size) for one, size in find_object(key)], location)
    if glob.has_magic(key):
        fixed = key[: re.search(r"[*?\[]", key).start()].rpartition("/")[0]  # type: ignore[union-attr]  # it has one
        objects = [one for one in list_objects(fixed) if _matches(one[0].split("/"), key.split("/"))]
    else:
        objects = list_objects(key)
        inside = [one.removeprefix(f"{key}/") for one, _ in objects]
        if any(one.startswith("_delta_log/") for one in inside):
            return [DeltaTable(location, location, delta_options())]
        names = [one.removeprefix("metadata/") for one in inside if one.startswith("metadata/")]
        if any(name.endswith(_METADATA) for name in names):
            _require_hint(names, location)
            return [IcebergTable(f"{_S3}{key}", location, iceberg_options())]
        objects = [
            one for one, relative in zip(objects, inside, strict=True) if _is_data(relative.split("/"))
        ]
    files = [ObjectTable(one, size, _partition(one.split("/")[:-1])) for one, size in objects]
    return _of_folder(files, location)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (bool(parts) and _matches(parts[1:], pattern))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _is_data(parts: Sequence[str]) -> bool:
    """Tell whether a file in a folder has rows: no log or mark of another program."""
    return parts[-1].lower().endswith(FORMATS) and not any(part.startswith(("_", ".")) for part in parts)


def _partition(folders: Sequence[str]) -> Mapping[str, str | None]:
    """Read the columns that names of folders give, such as `dt=2026-11-20`."""
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {name: None if value == _UNKNOWN_PARTITION else unquote(value) for name, value in pairs if name}


def with_variables(location: str) -> str:
    """Replace `${NAME}` by variables of the environment, encoded as in a URL where it is one."""
    encode: Callable[[str], str] = (lambda text: quote(text, safe="")) if is_url(location) else str

    def value_of(match: re.Match[str]) -> str:
        value = os.environ.get(match[1])
        if value is None:
            raise UnreadableSourceError(
                f"the environment has no variable {match[1]}, which the location names"
            )
        return encode(value)

    return _VARIABLE.sub(value_of, location)


def _require_distinct(tables: Sequence[Table]) -> None:
    seen: set[object] = set()
    for table in tables:
        place: object = table.path.resolve() if isinstance(table, FileTable) else table.name
        if place in seen:
            raise UnreadableSourceError(f"{table.name} is named twice; its rows would count twice")
        seen.add(place)


def _with_short_names(tables: Sequence[Table]) -> list[Table]:
    """Name files without their folders where that tells them apart."""
    names = [table.path.name for table in tables if isinstance(table, FileTable)]
    if len(set(names)) < len(names):
        return list(tables)
    return [
        FileTable(table.path, table.path.name, table.partition) if isinstance(table, FileTable) else table
        for table in tables
    ]
