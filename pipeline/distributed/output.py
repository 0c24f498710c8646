"""Output of a distributed rollup: Parquet files of visitors, orders and sums, and a manifest."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from engine.typed_records import record_from_json
from pipeline.snapshots.files import placed

MANIFEST: Final = "rollup.json"
VERSION: Final = 1


class UnusableOutputError(Exception):
    """A folder that cannot be written or published; the message names it and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputGroup:
    """Experiments that were counted at once, in the folder named by the position of the group.

    `experiments` and `fingerprints` are by the number in the column `experiment`, and so is
    `last_exposed_at` (microseconds since 1970, None without exposures). `visitors` and `orders` are numbers
    of rows, `rules` are the counting rules as JSON.
    """

    experiments: tuple[str, ...]
    fingerprints: tuple[str, ...]
    last_exposed_at: tuple[int | None, ...]
    rules: str
    visitors: int
    orders: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputManifest:
    """Extent of an output: `events` of a project up to `newest_seq`, with the `digest` of their ids.

    `as_of`, the time of the run, is in microseconds since 1970. A folder without a
    manifest is that of a run that did not end.
    """

    project_id: str
    newest_seq: int
    events: int
    digest: int
    as_of: int
    groups: tuple[OutputGroup, ...]
    version: int = VERSION

    @property
    def visitors(self) -> int:
        """Number of rows of visitors, one per experiment and visitor."""
        return sum(group.visitors for group in self.groups)


@contextmanager
def new_output(folder: Path, *, replace: bool) -> Iterator[Path]:
    """Provide a folder to fill, which becomes `folder` at the end, and is removed on failure.

    Raises UnusableOutputError where `folder` exists, unless it is to be replaced and is such an output.
    """
    if folder.exists() and not (replace and (folder / MANIFEST).is_file()):
        hint = "it is no output of a rollup" if replace else "replace it with --replace, or name another one"
        raise UnusableOutputError(f"{folder} exists already; {hint}")
    draft = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_output_manifest(folder: Path, manifest: OutputManifest) -> None:
    """Write the manifest, once all files are there."""
    with placed(folder / MANIFEST) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def read_output_manifest(folder: Path) -> OutputManifest:
    """Read the manifest of an output; raises UnusableOutputError."""
    path = folder / MANIFEST
    try:
        manifest = record_from_json(path.read_bytes(), OutputManifest)
    except FileNotFoundError:
        raise UnusableOutputError(f"there is no finished rollup in {folder}") from None
    except msgspec.MsgspecError as error:
        raise UnusableOutputError(f"{path} is no manifest of a rollup: {error}") from error
    if manifest.version != VERSION:
        raise UnusableOutputError(
            f"{path} has the version {manifest.version}, and this is for {VERSION}: count anew"
        )
    return manifest


class GroupWriter:
    """Files of a group's rows: orders have the name of the file with their visitors."""

    def __init__(self, folder: Path) -> None:
        """Write into `folder`, which does not exist yet."""
        self._folder = folder
        self._files = 0
        self.rows = {"visitors": 0, "orders": 0}
        for kind in self.rows:
            (folder / kind).mkdir(parents=True)

    def add(self, kind: str, rows: int, content: bytes) -> None:
        """Write a file with so many rows of `visitors`, or the `orders` of those that were written last."""
        self._files += kind == "visitors"
        (self._folder / kind / f"{self._files:06d}.parquet").write_bytes(content)
        self.rows[kind] += rows

    def add_sums(self, cells: pl.DataFrame) -> None:
        """Write the sums of the group."""
        cells.write_parquet(self._folder / "sums.parquet")
