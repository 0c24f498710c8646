"""Commits of the catalog, seen by the system calls of the process."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.only_on("sqlite")
WRITE = """
import os, sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
catalog = Catalog.open(Settings(data_dir=Path(sys.argv[1])))
for number in range(3):
    os.write(2, b"begin")
    catalog.accounts.create(f"Shop {number}", f"a{number}@shop.example")
    os.write(2, b"acknowledged")
catalog.close()
"""
SYNCED = re.compile(r"f(?:data)?sync\(\d+<[^>]*catalog\.sqlite3-wal>\)\s+= 0")


def test_a_commit_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace: apt-get install strace")
    calls = tmp_path / "calls"
    traced = ["strace", "-f", "-y", "-e", "trace=write,fsync,fdatasync", "-o", str(calls)]
    command = [*traced, sys.executable, "-c", WRITE, str(tmp_path / "store")]
    subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[4])
    parts = re.split(r'"begin"', calls.read_text())[1:]
    assert len(parts) == 3
    for part in parts:
        before, acknowledgement, _ = part.partition('"acknowledged"')
        assert acknowledgement
        assert SYNCED.search(before)
