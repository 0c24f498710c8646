"""The first hour runs as it is pasted: sources, nights, and the verdict in three places."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pasted_lines import ROOT, as_bash, blocks, free_port, run


@pytest.mark.long(seconds=20)
def test_the_first_hour_runs_as_pasted(tmp_path: Path, new_database: Callable[[], str]) -> None:
    found = blocks(ROOT / "docs" / "first-hour.md")
    assert {language for language, _ in found} == {"sh", "python"}
    pasted = "".join(as_bash(*block) for block in found)
    pasted = pasted.replace("postgresql://localhost/shop", f"'{new_database()}'")
    pasted = pasted.replace("8000", str(free_port()))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")

    text = run(["bash", "-euo", "pipefail", "-c", pasted], tmp_path)
    headline = "'new' wins on Order"
    assert text.count(headline) == 3, text
    assert re.search(rf"^ship: {headline}.*\nshipping it$", text, re.MULTILINE)
    assert re.search(rf"^ship {headline}", text, re.MULTILINE)
