"""The source tree: its packages and modules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("truelift", "engine", "pipeline", "api")


def modules() -> Iterator[Path]:
    """Every module, relative to the root, packages aside."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name != "__init__.py":
                yield path.relative_to(ROOT)
