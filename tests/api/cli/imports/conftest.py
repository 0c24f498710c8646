"""Files to import."""

from pathlib import Path

import pytest

from tests.api.cli.imports.imported_files import (
    append_visitors,
)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    rows = [f"v{number},{'AB'[number % 2]},{int(number % 5 == 0)},{number}.5" for number in range(1_000)]
    path = tmp_path / "small.csv"
    path.write_text("\n".join(["who,arm,bought,spend", *rows, "null,A,1,2", "v9,B,perhaps,2"]) + "\n")
    return path


@pytest.fixture
def clear_file(tmp_path: Path) -> Path:
    """2,000 visitors a variant, of whom 200 and 250 buy: clear at one look, and not at every look."""
    path = tmp_path / "clear.csv"
    path.write_text("who,arm,bought\n")
    append_visitors(path, "first", buyers=(200, 250))
    return path
