"""Small files in the format of MaxMind DB."""

from pathlib import Path

from mmdb_writer import MMDBWriter
from netaddr import IPSet

MUNICH = {
    "country": {"iso_code": "DE", "names": {"en": "Germany"}},
    "subdivisions": [{"iso_code": "BY"}],
    "city": {"names": {"de": "München", "en": "Munich"}},
}
# Of the ranges for documentation (RFC 5737, RFC 3849).
IN_MUNICH = "203.0.113.7"
IN_MUNICH_IPV6 = "2001:db8::7"
IN_FRANCE = "198.51.100.7"
ODD = "192.0.2.7"


def write_location_file(path: Path) -> Path:
    """Write a file with a city, a country, and a record of no known form."""
    writer = MMDBWriter(6, "Test-City", languages=["en"], ipv4_compatible=True)
    writer.insert_network(IPSet(["203.0.113.0/24", "2001:db8::/32"]), MUNICH)
    writer.insert_network(IPSet(["198.51.100.0/24"]), {"country": {"iso_code": "FR"}})
    writer.insert_network(IPSet(["192.0.2.0/24"]), {"country": "FR", "city": ["x"], "subdivisions": {}})
    writer.to_db_file(str(path))
    return path
