"""The query parameters that filter results; which values they take is judged where they are applied.

What results can be filtered by: on the wire.
"""

from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from engine.design.vocabulary import SEGMENT_VALUES
from pipeline.results.filters import SegmentFilters
from pipeline.store.warehouse.visitor_export import Form


def _closed(name: str) -> JsonDict:
    return {"enum": list(SEGMENT_VALUES[name])}


class SegmentQuery(BaseModel):
    """Filters by what a visitor was at the first exposure; several combine with AND."""

    traffic_source: str | None = None
    device_type: str | None = Field(None, json_schema_extra=_closed("device_type"))
    visitor_type: str | None = Field(None, json_schema_extra=_closed("visitor_type"))
    day_of_week: str | None = Field(None, json_schema_extra=_closed("day_of_week"))
    country: str | None = Field(None, description="Country code.")
    region: str | None = None
    os: str | None = None
    browser: str | None = None
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    visitor_identity: str | None = Field(None, json_schema_extra=_closed("visitor_identity"))
    custom_dimension_key: str | None = Field(None, description="Goes together with custom_dimension_value.")
    custom_dimension_value: str | None = Field(None, description="Goes together with custom_dimension_key.")

    @property
    def filters(self) -> SegmentFilters:
        """What they select; InvalidFilterError names every one that makes no sense."""
        return SegmentFilters.from_query(self.model_dump())


class TimeseriesQuery(SegmentQuery):
    """The same, and which goal."""

    goal_id: str | None = Field(None, description="One goal instead of the primary goal.")


class SegmentsQuery(BaseModel):
    """What to tell of the segments; all are judged in any case."""

    goal_id: str | None = Field(None, description="One goal instead of all.")
    dimension: str | None = Field(None, description="One dimension, such as `country` or `custom:plan`.")


class ExportQuery(SegmentQuery):
    """The same, and what kind of file."""

    format: Form = Field("parquet", description="Which kind of file.")


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
