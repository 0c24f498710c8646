"""Services of a data folder, started as a command in a process of their own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVE = "import sys; from api.cli.app import main; sys.argv[0] = 'truelift'; main()"


@contextmanager
def served_by_another_process(data_dir: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Serve the store until the end, on any free port; the process may be ended earlier."""
    command = [sys.executable, "-c", SERVE, "serve", "--data-dir", str(data_dir), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            assert service.stdout is not None
            assert service.stdout.readline().startswith("Serving on")
            yield service
        finally:
            service.kill()
