"""The hour with a warehouse runs as it is pasted: two tables, one description, and the verdict."""

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pasted_lines import ROOT, as_bash, blocks, free_port, run


@pytest.mark.long(seconds=30)
def test_the_hour_with_a_warehouse_runs_as_pasted(tmp_path: Path, new_database: Callable[[], str]) -> None:
    found = blocks(ROOT / "docs" / "warehouse.md")
    # Beside the hour, what other descriptions begin with.
    others = [tomllib.loads(text) for language, text in found if language == "toml"]
    assert {one["kind"] for one in others} == {"warehouse"}
    hour = [block for block in found if block[0] != "toml"]
    assert {language for language, _ in hour} == {"sh", "python"}
    pasted = "".join(as_bash(*block) for block in hour)
    pasted = pasted.replace("postgresql://localhost/shop", f"'{new_database()}'")
    pasted = pasted.replace("8000", str(free_port()))
    (tmp_path / ".venv").symlink_to(sys.prefix)

    text = run(["bash", "-euo", "pipefail", "-c", pasted], tmp_path)
    assert re.search(
        r"^shop: 6,720 rows in postgres\n  Order button: new, old; its statement is planned$",
        text,
        re.MULTILINE,
    )
    assert re.search(r"^[\d,]+ sums of 5 experiments: every one is equal\.$", text, re.MULTILINE)
    counted = re.search(r"6,720 rows were counted where they are, and ([\d,]+) sums came back", text)
    assert counted
    # The largest fetch, of 22 days, two goals and two countries.
    assert int(counted[1].replace(",", "")) < 1_000
    assert text.count("'new' wins on Order") == 2, text
    assert text.splitlines()[-1] == "['DE', 'US']"
    assert text.count("\nWITH ") == 1
    printed = (tmp_path / "warehouse-hour" / "order-button.sql").read_text()
    assert printed.startswith("-- Its session: SET TimeZone")
    assert printed.count("\nWITH ") == 1
