"""Import of Altair on first use: it takes half a second, which no command without charts pays."""

from importlib import import_module
from typing import Any


def load_altair() -> Any:  # noqa: ANN401  # a module
    """Import Altair."""
    return import_module("altair")
