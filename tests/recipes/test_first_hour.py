"""The first hour runs as it is pasted: sources, nights, and the verdict in three places."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def as_bash(language: str, code: str) -> str:
    return code if language == "sh" else f"python - <<'END_OF_PYTHON'\n{code}END_OF_PYTHON\n"


def test_the_first_hour_runs_as_pasted(tmp_path: Path, new_database: Callable[[], str]) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "first-hour.md").read_text())
    assert {language for language, _ in blocks} == {"sh", "python"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    pasted = "".join(as_bash(*block) for block in blocks)
    pasted = pasted.replace("postgresql://localhost/shop", f"'{new_database()}'").replace("8000", port)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")

    printed = tmp_path / "printed.txt"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", pasted],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "120"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = printed.read_text()
    assert status == 0, text
    headline = "'new' wins on Order"
    assert text.count(headline) == 3, text
    assert re.search(rf"^ship: {headline}.*\nshipping it$", text, re.MULTILINE)
    assert re.search(rf"^ship {headline}", text, re.MULTILINE)
