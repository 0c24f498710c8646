"""Which name is still free where names must differ."""

from collections.abc import Collection
from itertools import count


def free_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or the first of `wanted-2`, `wanted-3`, … that nothing else has."""
    if wanted not in taken:
        return wanted
    return next(name for name in (f"{wanted}-{number}" for number in count(2)) if name not in taken)
