"""Reference values of the public contract: hashes of visitors, and the list of operations."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def assignment_vectors() -> dict[str, Any]:
    """Return hashes of strings, and the variants of visitors."""
    found: dict[str, Any] = json.loads((DATA / "assignment_vectors.json").read_text())
    return found


def operations() -> list[str]:
    """Return each operation as `METHOD /path`."""
    return (DATA / "operations.txt").read_text().split("\n")[:-1]
