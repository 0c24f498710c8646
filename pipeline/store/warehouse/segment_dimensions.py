"""Segment dimensions: the attributes of a visitor that results can be filtered and split by."""

from typing import Final

# Each has a column of value codes in the table of visitors.
DIMENSIONS: Final = (
    "traffic_source",
    "device_type",
    "visitor_type",
    "os",
    "day_of_week",
    "country",
    "region",
    "browser",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "visitor_identity",
)
# The column of custom dimensions: the code of a JSON object.
CUSTOM: Final = "custom"
CUSTOM_PREFIX: Final = "custom:"


def json_pointer(key: str) -> str:
    """Build the JSON pointer (RFC 6901) of a custom dimension; a JSON path would need quoting."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
