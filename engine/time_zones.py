"""Time zones of the tzdata package.

Operating systems and libraries have time zone databases of different age, which disagree about zones whose
rules changed lately. The package is locked with the program, so every result comes from one source.
"""

from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from engine.errors import EngineError


class UnknownTimezoneError(EngineError, LookupError):
    """A name that is not in the time zone database."""


@cache
def all_zones() -> frozenset[str]:
    """List every name of a zone, aliases such as US/Pacific included."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


def is_timezone(name: str) -> bool:
    """Check that a zone of this name exists; names are case-sensitive, as in the database."""
    return name in all_zones()


@cache
def zone(name: str) -> ZoneInfo:
    """Load a zone from the package; UnknownTimezoneError if there is none of this name."""
    if not is_timezone(name):
        raise UnknownTimezoneError(
            f"{name!r} is not an IANA time zone; give one such as America/New_York, or UTC"
        )
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
