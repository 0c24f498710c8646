import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.store.ownership.file_lock import FileLock, LockHeldError

HOLD = """
import sys
from pathlib import Path
from pipeline.store.ownership.file_lock import FileLock
lock = FileLock.take(Path(sys.argv[1]), b"the other")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_excludes_others_and_tells_them_its_note(tmp_path: Path) -> None:
    lock = FileLock.take(tmp_path / "lock", b"first")
    with pytest.raises(LockHeldError) as refused:
        FileLock.take(tmp_path / "lock", b"second")
    assert refused.value.note == b"first"
    lock.release()
    lock.release()
    FileLock.take(tmp_path / "lock", b"3rd").release()
    assert (tmp_path / "lock").read_bytes() == b"3rd"


def test_a_lock_ends_with_its_process_however_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockHeldError) as refused:
            FileLock.take(tmp_path / "lock", b"mine")
        assert refused.value.note == b"the other"
        holder.kill()
        holder.wait()
    FileLock.take(tmp_path / "lock", b"mine").release()


def test_a_lock_notices_that_its_file_is_gone_or_another(tmp_path: Path) -> None:
    lock = FileLock.take(tmp_path / "lock", b"")
    assert lock.is_in_place()
    (tmp_path / "lock").unlink()
    assert not lock.is_in_place()
    (tmp_path / "lock").touch()
    assert not lock.is_in_place()
    lock.release()


def test_a_lock_file_is_its_owners_alone(tmp_path: Path) -> None:
    FileLock.take(tmp_path / "lock", b"").release()
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
