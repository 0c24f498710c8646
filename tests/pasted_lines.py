"""Lines of documents, run as a reader pastes them."""

import os
import re
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    """Every fenced block of a document, in order: its language and its lines."""
    return blocks_in(document.read_text())


def blocks_in(text: str) -> list[tuple[str, str]]:
    """Every fenced block of a part of a document, as `blocks` has them."""
    found: list[tuple[str, str]] = _BLOCK.findall(text)
    assert found
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def run(command: list[str], folder: Path) -> str:
    """What a command prints; whatever it left running ends with it."""
    environment = os.environ | {"COLUMNS": "120"}
    printed = folder / "printed.txt"
    # A file, not a pipe: a service in the background would keep a pipe open.
    with printed.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert status == 0, printed.read_text()
    return printed.read_text()


def as_bash(language: str, code: str) -> str:
    """Write a block of Python as lines of bash that run it; those of bash stay."""
    return code if language == "sh" else f"python - <<'END_OF_PYTHON'\n{code}END_OF_PYTHON\n"
