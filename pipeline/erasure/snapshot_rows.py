"""Rows of a person in the snapshot of a project."""

from typing import Final

import polars as pl

from pipeline.erasure.holder import Erasing
from pipeline.snapshots.manifest import UnreadableSnapshotError, read_manifest

_SEGMENT: Final = {"dimension": pl.String, "value": pl.String}


def needs_new_snapshot(erasing: Erasing) -> bool:
    """Tell whether the project's snapshot may have the person: events that are kept no longer, too."""
    if erasing.project.id not in erasing.services.snapshots.stored_projects():
        return False
    return erasing.erased.is_stored or _count_rows(erasing, until=None) > 0


def write_again(erasing: Erasing) -> None:
    """Write the snapshot without the person, and remove the files of the former one; DiskFullError."""
    if needs_new_snapshot(erasing):
        erasing.services.snapshots.write(erasing.project.id, keep_former=False)


def count_left(erasing: Erasing) -> int:
    """Count the rows of the person from before the erasure."""
    return _count_rows(erasing, until=erasing.erased.until)


def _count_rows(erasing: Erasing, *, until: int | None) -> int:
    """Count the events, up to a number, and the rows of experiments with a key of the person."""
    erased = erasing.erased
    folder = erasing.services.snapshots.folder / erasing.project.id
    try:
        manifest = read_manifest(folder)
    except UnreadableSnapshotError:
        return 0
    keys = list(erased.person.all_keys)
    of_person = pl.col("visitor_key").is_in(keys)
    is_before = True if until is None else pl.col("seq") <= until
    found = 0
    for file in manifest.events:
        rows = pl.scan_parquet(folder / file.path, glob=False).filter(is_before)
        found += _height(rows.filter(of_person | pl.col("user_key").is_in(keys)))
    for one in manifest.experiments:
        if one.id in erased.sums_kept:
            found += _height(pl.scan_parquet(folder / one.visitors.path, glob=False).filter(of_person))
            texts = pl.DataFrame(erased.segments[one.id], _SEGMENT, orient="row")
            sums = pl.scan_parquet(folder / one.aggregates.path, glob=False)
            found += _height(sums.join(texts.lazy(), on=list(_SEGMENT), how="semi"))
    return found


def _height(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect().item())
