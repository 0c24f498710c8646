"""The README is a screen, and the quick start runs as it stands: its commands, and its Python."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.analysis.results.verdict_words import VERDICT_WORDS
from tests import pasted_lines
from tests.pasted_lines import ROOT, free_port, run

WRITTEN_PORT = "8000"


README = ROOT / "README.md"
QUICK_START = ROOT / "docs" / "quick-start.md"


def blocks(language: str, page: Path = QUICK_START) -> list[str]:
    """Every fenced block of that language, in order."""
    found = [code for of, code in pasted_lines.blocks(page) if of == language]
    assert found
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a set-up clone: its own data folder, and this environment."""
    shutil.copytree(ROOT / "data" / "sample", tmp_path / "data" / "sample")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def test_make_knows_the_targets_of_the_readme() -> None:
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("sh", README)), re.MULTILINE)
    assert targets == ["demo", "test"]
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_the_readme_is_a_screen_with_two_commands_and_a_verdict() -> None:
    text = README.read_text()
    assert len(text.splitlines()) < 50
    (commands,) = blocks("sh", README)
    assert len(commands.splitlines()) == 2
    assert f"| {VERDICT_WORDS['ship'].label} it" in text.replace("│", "|")
    assert "quick-start.md" in text


@pytest.mark.slow
def test_the_shell_lines_run_as_pasted(checkout: Path) -> None:
    port = str(free_port())
    pasted = [block.replace(WRITTEN_PORT, port) for block in blocks("sh")]
    assert len(pasted) > 3
    printed = run(["bash", "-euo", "pipefail", "-c", "\n".join(pasted)], checkout)
    assert "'treatment' wins on converted" in printed
    summary = json.loads(re.findall(r"^{.*}$", printed, re.MULTILINE)[-1])["data"]
    assert [variant["visitors"] for variant in summary["variants"]].count(1) == 1
    assert sum(variant["conversions"] for variant in summary["variants"]) == 1


@pytest.mark.slow
def test_the_python_runs_as_pasted(checkout: Path) -> None:
    (code,) = blocks("python")
    printed = run([".venv/bin/python", "-c", code], checkout)
    assert printed.splitlines() == ["'treatment' wins on converted (+21.3%)", "7682 visitors in 21 days"]
