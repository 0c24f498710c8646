"""The store with a goal of each measure that the version before named sums wrote, and its answers."""

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any, Final

from tests import old_store

FOLDER: Final = Path(__file__).parent / "data" / "store_measures"
ARCHIVE: Final = FOLDER / "store.tar.gz"
FACTS: Final = FOLDER / "facts.json"
ANSWERS: Final = FOLDER / "answers.json"
READS: Final = (
    "/results",
    "/results?country=DE",
    "/results?country=DE&custom_dimension_key=plan&custom_dimension_value=pro",
    "/results/segments?dimension=country",
    "/results/timeseries",
    "/results/export?format=csv",
)


def unpack(folder: Path) -> Path:
    """Write a copy of the store into `folder`; returns its data folder."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder / "store", filter="data")
    return folder / "store"


def answers(folder: Path) -> dict[str, Any]:
    """Read everything of every experiment from a copy of the store: by its name and path."""
    facts = json.loads(FACTS.read_text())
    headers = {"Authorization": f"Bearer {facts['token']}"}
    found: dict[str, Any] = {}
    with old_store.served(unpack(folder)) as client:
        for key, experiment in facts["experiments"].items():
            path = f"/api/v1/projects/{facts['project']}/experiments/{experiment}"
            for read in READS:
                answer = client.get(path + read, headers=headers)
                answer.raise_for_status()
                found[key + read] = columns(answer.text) if "export" in read else answer.json()
    return found


def columns(table: str) -> dict[str, list[str]]:
    """Lay a CSV table out by columns."""
    names, *rows = csv.reader(io.StringIO(table))
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
