"""What results can be filtered by: on the wire."""

from pydantic import BaseModel


class CustomDimension(BaseModel):
    """A dimension of the project's own."""

    key: str
    label: str
    values: list[str]


class AvailableSegments(BaseModel):
    """The values that results can be filtered by."""

    traffic_sources: list[str] = []
    device_types: list[str] = []
    visitor_types: list[str] = []
    operating_systems: list[str] = []
    day_of_weeks: list[str] = []
    countries: list[str] = []
    regions: list[str] = []
    browsers: list[str] = []
    utm_sources: list[str] = []
    utm_mediums: list[str] = []
    utm_campaigns: list[str] = []
    visitor_identities: list[str] = []
    custom_dimensions: list[CustomDimension] = []
