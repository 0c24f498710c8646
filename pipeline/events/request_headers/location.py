"""Location of a visitor: from the headers of a content network, else from the network address."""

import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    import maxminddb

MAX_TEXT: Final = 256
# Headers in which a content network or a proxy gives the visitor's location; the first one present wins.
COUNTRY_HEADERS: Final = (
    "cf-ipcountry",
    "cloudfront-viewer-country",
    "x-vercel-ip-country",
    "x-country-code",
)
REGION_HEADERS: Final = ("cf-region-code", "cloudfront-viewer-country-region", "x-vercel-ip-country-region")
CITY_HEADERS: Final = ("cf-ipcity", "cloudfront-viewer-city", "x-vercel-ip-city")
_HEADERS: Final = frozenset({*COUNTRY_HEADERS, *REGION_HEADERS, *CITY_HEADERS})
# What content networks send for an unknown country, and for Tor.
_NO_COUNTRY: Final = frozenset({"XX", "T1"})


class Location(NamedTuple):
    """A country by its ISO code in capitals, the code of a region in it, and the English name of a city."""

    country: str | None = None
    region: str | None = None
    city: str | None = None


class LocationFileError(Exception):
    """The file of `TRUELIFT_GEOIP_FILE` is missing, or has no such format."""


class Locations:
    """Locations of visitors by headers, and a file in the format of MaxMind DB; threads may share it."""

    def __init__(self, path: Path | None = None) -> None:
        """Open a file of network addresses; without one, headers alone tell. LocationFileError."""
        self._database = None if path is None else _open_copy(path)
        # A record takes longer to read than an event to decode, and a visitor sends several.
        self._find = lru_cache(maxsize=4_096)(self._read)

    def locate(self, headers: Mapping[str, str], address: str | None) -> Location:
        """Locate the visitor of a request by its headers, in lower case, and its network address.

        Where both tell, headers win, and the file adds to a country that it tells, too.
        """
        told = location_of_headers(headers)
        found = self._find(address)
        if told.country is None:
            return found if told.region is None and told.city is None else told
        if told.country != found.country:
            return told
        return Location(told.country, told.region or found.region, told.city or found.city)

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()

    def _read(self, address: str | None) -> Location:
        if self._database is None or address is None:
            return UNKNOWN_LOCATION
        import maxminddb  # noqa: PLC0415 - of a file alone

        try:
            record = self._database.get(address)
        except (ValueError, maxminddb.InvalidDatabaseError):
            # An IPv6 address and a file of IPv4 alone, or a damaged part of the file.
            return UNKNOWN_LOCATION
        return _location_in(record)


UNKNOWN_LOCATION: Final = Location()


def _open_copy(path: Path) -> "maxminddb.Reader":
    """Open a copy without a name, which lasts as long as it is open; LocationFileError.

    The file itself is mapped into memory: to write over it would end the process by a bus error.
    """
    import maxminddb  # noqa: PLC0415 - of a file alone

    with NamedTemporaryFile(suffix=path.suffix) as copy:
        try:
            with path.open("rb") as file:
                shutil.copyfileobj(file, copy)
            copy.flush()
            return maxminddb.open_database(copy.name)
        except (OSError, maxminddb.InvalidDatabaseError) as error:
            reason = str(error).replace(copy.name, str(path))
            raise LocationFileError(f"TRUELIFT_GEOIP_FILE={path}: {reason}") from error


def location_of_headers(headers: Mapping[str, str]) -> Location:
    """Read the location that request headers with lower-case names give."""
    if _HEADERS.isdisjoint(headers):
        return UNKNOWN_LOCATION
    country = _first_of(COUNTRY_HEADERS, headers)
    return Location(
        country_code(country),
        _first_of(REGION_HEADERS, headers) or None,
        _readable(_first_of(CITY_HEADERS, headers)),
    )


def country_code(value: str | None) -> str | None:
    """Return a country as it is stored: codes in capitals; None where it is unknown."""
    if value is None or value.upper() in _NO_COUNTRY:
        return None
    return value[:MAX_TEXT].upper() if len(value) == len("US") else value[:MAX_TEXT] or None


def _first_of(names: tuple[str, ...], headers: Mapping[str, str]) -> str | None:
    for name in names:
        if name in headers:
            return headers[name][:MAX_TEXT]
    return None


def _readable(city: str | None) -> str | None:
    """Decode a name: content networks send it as UTF-8, which headers are not, or percent-encoded."""
    if not city:
        return None
    try:
        text = city.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        text = city
    return unquote(text).strip() or None


def _location_in(record: object) -> Location:
    """Read a record of GeoLite2 City, GeoLite2 Country, or a file of the same form."""
    country, city = _part(record, "country"), _part(record, "city")
    subdivisions = record.get("subdivisions") if isinstance(record, Mapping) else None
    region = subdivisions[0] if isinstance(subdivisions, list) and subdivisions else None
    return Location(
        country_code(_text(country, "iso_code")), _text(region, "iso_code"), _text(_part(city, "names"), "en")
    )


def _part(record: object, name: str) -> Any:  # noqa: ANN401 - of a file, of any form
    return record.get(name) if isinstance(record, Mapping) else None


def _text(record: object, name: str) -> str | None:
    value = _part(record, name)
    return value[:MAX_TEXT] if isinstance(value, str) and value else None
