"""What a name is in an address, and which one is still free where names must differ."""

import re
import unicodedata
from collections.abc import Collection
from itertools import count


def slug_of(name: str) -> str:
    """`name` in lower-case ASCII letters, digits and hyphens; `untitled` where none are left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "untitled"


def free_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or the first of `wanted-2`, `wanted-3`, … that nothing else has."""
    if wanted not in taken:
        return wanted
    return next(name for name in (f"{wanted}-{number}" for number in count(2)) if name not in taken)
