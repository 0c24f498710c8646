from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.snapshots.manifest import (
    SCHEMA_VERSION,
    Manifest,
    UnreadableSnapshotError,
    read_manifest,
    write_manifest,
)

MANIFEST = Manifest(
    project_id="prj_1",
    project_name="Shop",
    timezone="UTC",
    currency="USD",
    taken_at=datetime(2026, 3, 1, tzinfo=UTC),
    last_seq=0,
    events=(),
    experiments=(),
)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    write_manifest(tmp_path, replace(MANIFEST, schema_version=SCHEMA_VERSION + 1))
    with pytest.raises(UnreadableSnapshotError, match="schema version"):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_has_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSnapshotError, match="there is no snapshot"):
        read_manifest(tmp_path)
