"""Services of a data folder, started as a command in a process of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.forked import ForkedCommand, start_command
from tests.waiting import wait_until


@contextmanager
def served_by_another_process(data_dir: Path, *options: str) -> Iterator[ForkedCommand]:
    """Serve the store until the end, on any free port; the process may be ended earlier."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.touch()
        service = start_command("serve", "--data-dir", str(data_dir), "--port", "0", *options, log=log)
        try:
            wait_until(lambda: service.poll() is not None or "Serving on" in log.read_text())
            assert service.poll() is None, log.read_text()
            yield service
        finally:
            service.kill()
            service.wait()
