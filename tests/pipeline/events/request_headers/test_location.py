import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.events.request_headers.location import (
    UNKNOWN_LOCATION,
    Location,
    LocationFileError,
    Locations,
    location_of_headers,
)
from tests.pipeline.events.request_headers.location_files import (
    IN_FRANCE,
    IN_MUNICH,
    IN_MUNICH_IPV6,
    ODD,
    write_location_file,
)


@pytest.fixture(scope="module")
def locations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locations]:
    found = Locations(write_location_file(tmp_path_factory.mktemp("locations") / "test.mmdb"))
    yield found
    found.close()


@pytest.mark.parametrize(
    ("address", "location"),
    [
        (IN_MUNICH, Location("DE", "BY", "Munich")),
        (IN_MUNICH_IPV6, Location("DE", "BY", "Munich")),
        (IN_FRANCE, Location("FR")),
        (ODD, UNKNOWN_LOCATION),
        ("10.0.0.1", UNKNOWN_LOCATION),
        ("testclient", UNKNOWN_LOCATION),
        (None, UNKNOWN_LOCATION),
    ],
)
def test_file_tells_the_location_of_an_address(
    locations: Locations, address: str | None, location: Location
) -> None:
    assert locations.locate({}, address) == location


@pytest.mark.parametrize(
    ("headers", "location"),
    [
        ({"cf-ipcountry": "de"}, Location("DE", "BY", "Munich")),
        ({"cf-ipcountry": "DE", "cf-ipcity": "Passau"}, Location("DE", "BY", "Passau")),
        ({"cf-ipcountry": "AT"}, Location("AT")),
        ({"cf-ipcountry": "XX"}, Location("DE", "BY", "Munich")),
        ({"cf-ipcity": "Linz"}, Location(None, None, "Linz")),
    ],
)
def test_headers_win_over_the_file(locations: Locations, headers: dict[str, str], location: Location) -> None:
    assert locations.locate(headers, IN_MUNICH) == location


@pytest.mark.parametrize(
    ("city", "name"),
    [
        ("Munich", "Munich"),
        ("São Paulo".encode().decode("latin-1"), "São Paulo"),
        ("S%C3%A3o%20Paulo", "São Paulo"),
        ("Orl\xe9ans", "Orléans"),
        ("", None),
        (" ", None),
    ],
)
def test_name_of_a_city_is_read_as_content_networks_write_it(city: str, name: str | None) -> None:
    assert location_of_headers({"x-vercel-ip-city": city}).city == name


def test_without_a_file_only_headers_tell() -> None:
    assert Locations().locate({"cf-ipcountry": "DE"}, IN_MUNICH) == Location("DE")


def test_file_that_is_missing_or_of_another_format_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mmdb"
    broken.write_bytes(b"no such format" * 100)
    for path in (tmp_path / "missing.mmdb", broken, tmp_path):
        with pytest.raises(LocationFileError, match="TRUELIFT_GEOIP_FILE"):
            Locations(path)


def test_file_may_be_written_over_while_it_is_in_use(tmp_path: Path) -> None:
    """In a process of its own: a bus error would end it."""
    file = write_location_file(tmp_path / "test.mmdb")
    program = (
        "from pathlib import Path\n"
        "from pipeline.events.request_headers.location import Locations\n"
        f"path = Path({str(file)!r})\n"
        "locations = Locations(path)\n"
        "path.write_bytes(b'')\n"
        f"print(locations.locate({{}}, {IN_MUNICH!r}).city)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "Munich\n"), done.stderr
