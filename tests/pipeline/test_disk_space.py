"""Free disk space."""

import errno
from pathlib import Path

import pytest

from pipeline.disk_space import DiskFullError, disk_full_errors, free_bytes, require_space


def test_space_is_required_before_anything_is_written(tmp_path: Path) -> None:
    require_space(tmp_path, free_bytes(tmp_path) // 2)
    with pytest.raises(DiskFullError, match="MiB free") as refused:
        require_space(tmp_path, 2 * free_bytes(tmp_path))
    assert refused.value.retry_after > 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_from_other_failures(code: int) -> None:
    with pytest.raises(DiskFullError), disk_full_errors():
        raise OSError(code, "no space")


def test_another_failure_stays_what_it_is() -> None:
    with pytest.raises(PermissionError), disk_full_errors():
        raise PermissionError(errno.EACCES, "not yours")
