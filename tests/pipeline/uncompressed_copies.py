"""Bytes of files of a store as they are before compression."""

from pathlib import Path

import duckdb
import polars as pl


def uncompressed(path: Path, copies: Path) -> bytes:
    """Read a file; a Parquet file and the warehouse from an uncompressed copy in a folder."""
    copy = copies / f"{len(list(copies.iterdir()))}"
    if path.suffix == ".parquet":
        pl.read_parquet(path).write_ipc(copy, compression="uncompressed")
        return copy.read_bytes()
    if path.name == "warehouse.duckdb":
        with duckdb.connect(":memory:") as connection:
            connection.execute("SET force_compression = 'uncompressed'")
            connection.execute(f"ATTACH '{path}' AS stored (READ_ONLY)")
            connection.execute(f"ATTACH '{copy}' AS written")
            connection.execute("COPY FROM DATABASE stored TO written")
            connection.execute("DETACH written")
        return copy.read_bytes()
    return path.read_bytes()
