"""Names of time zones: those of the package, and no others."""

import pytest

from engine.local_days import local_days
from engine.time_zones import UnknownTimezoneError, all_zones, is_timezone, zone


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "utc", "America", "../UTC", "/etc/localtime", "localtime"]
)
def test_an_unknown_zone_is_refused_with_an_example(name: str) -> None:
    assert not is_timezone(name)
    with pytest.raises(UnknownTimezoneError, match="is not an IANA time zone; give one such as America/"):
        local_days([], name)


def test_every_zone_of_the_database_can_be_loaded() -> None:
    assert {zone(name).key for name in all_zones()} == all_zones()
    assert is_timezone("America/Vancouver")
    assert is_timezone("US/Pacific")
