"""Another process that owns a store, as a running service does."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OWNER = """
import sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.ownership.store_lock import locked_store
with locked_store(Settings(data_dir=Path(sys.argv[1]), catalog_url=None)):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def owned_by_another_process(data_dir: Path) -> Iterator[None]:
    command = [sys.executable, "-c", OWNER, str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        yield
        owner.stdin.close()
