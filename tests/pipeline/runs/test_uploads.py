"""Uploaded files: bounded, kept for their run, and gone otherwise."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.disk_space import DiskFullError, free_bytes
from pipeline.runs.uploads import (
    WAITING_FILES,
    WAITING_FILES_OF_ACCOUNT,
    Upload,
    UploadsFullError,
    UploadTooLargeError,
    remove_left_uploads,
    remove_upload,
    remove_uploads,
    uploaded_file,
)
from pipeline.settings import Settings
from pipeline.store.catalog.errors import NotFoundError


def files(settings: Settings) -> list[str]:
    return sorted(path.name for path in settings.uploads_path.glob("*/*"))


def kept(settings: Settings, run_id: str, content: bytes = b"a,b\n", project: str = "prj_one") -> None:
    upload = Upload(settings, project)
    upload.write(content)
    upload.place(run_id, ".csv")
    upload.keep()
    upload.close()


def test_a_file_is_gone_unless_it_is_kept(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    for is_placed in (False, True):
        upload = Upload(settings, "prj_one")
        upload.write(b"a,b\n")
        if is_placed:
            upload.place("run_one", ".csv")
        upload.close()
        assert files(settings) == []
    kept(settings, "run_one")
    path = uploaded_file(settings, "prj_one", "run_one", ".csv")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"a,b\n", 0o600)
    remove_upload(settings, "prj_one", "run_one")
    assert files(settings) == []


def test_sizes_are_limited_by_file_by_project_and_by_the_disk(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, import_bytes=10)
    upload = Upload(settings, "prj_one")
    upload.write(b"x" * 10)
    with pytest.raises(UploadTooLargeError, match="at most 10 bytes"):
        upload.write(b"x")
    upload.close()
    for number in range(WAITING_FILES):
        kept(settings, f"run_{number}", b"x" * 10)
    # Enough for events, and too little for uploads.
    full = Settings(data_dir=tmp_path, min_free_disk_bytes=free_bytes(tmp_path) * 3 // 4)
    with (
        closing(Upload(settings, "prj_one")) as more,
        pytest.raises(UploadsFullError, match="at most 40 bytes"),
    ):
        more.write(b"x")
    with closing(Upload(settings, "prj_other")) as other:
        other.write(b"x")
    with closing(Upload(full, "prj_other")) as refused, pytest.raises(DiskFullError):
        refused.write(b"x")


def test_files_that_wait_are_limited_by_account(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, import_bytes=10)
    projects = [f"prj_{number}" for number in range(WAITING_FILES_OF_ACCOUNT)]
    for project in projects:
        kept(settings, "run_one", b"x" * 10, project)
    with closing(Upload(settings, "prj_0")) as of_another_account:
        of_another_account.write(b"x")
    with (
        closing(Upload(settings, "prj_0", projects)) as more,
        pytest.raises(UploadsFullError, match=r"this account .* at most 160 bytes"),
    ):
        more.write(b"x")


def test_files_that_go_while_they_are_measured_are_left_out(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    gone = settings.uploads_path / "prj_one" / "gone.csv"
    with closing(Upload(settings, "prj_one")) as upload:
        gone.symlink_to(tmp_path / "nowhere")
        upload.write(b"x")
        assert upload.size == 1


def test_an_upload_to_a_project_that_is_deleted_meanwhile_finds_none(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with closing(Upload(settings, "prj_one")) as written, closing(Upload(settings, "prj_one")) as begun:
        written.write(b"x")
        remove_uploads(settings, "prj_one")
        with pytest.raises(NotFoundError):
            written.place("run_one", ".csv")
        with pytest.raises(NotFoundError):
            begun.write(b"x")
    assert files(settings) == []


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    half = Upload(settings, "prj_one")
    half.write(b"half")
    kept(settings, "run_ended")
    kept(settings, "run_queued")
    remove_left_uploads(settings, {"run_queued"})
    assert files(settings) == ["run_queued.csv"]
    half.close()
    remove_uploads(settings, "prj_one")
    assert files(settings) == []
