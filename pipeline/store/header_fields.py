"""Segments that request headers can give, one bit each."""

from collections.abc import Mapping
from typing import Final

HEADER_BITS: Final[Mapping[str, int]] = {
    name: 1 << place for place, name in enumerate(("device_type", "os", "country", "region", "browser"))
}
