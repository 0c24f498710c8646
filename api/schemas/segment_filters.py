"""Query parameters that filter results by segment, and answers about the available values."""

from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from engine.design.vocabulary import SEGMENT_VALUES
from pipeline.results.filters import SegmentFilters
from pipeline.store.warehouse.visitor_export import Form


def _closed(name: str) -> JsonDict:
    return {"enum": list(SEGMENT_VALUES[name])}


class SegmentQuery(BaseModel):
    """Filters by visitors' attributes at first exposure; several combine with AND."""

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
    custom_dimension_key: str | None = Field(
        None, description="Name of a custom dimension; required with custom_dimension_value."
    )
    custom_dimension_value: str | None = Field(
        None, description="Value of the custom dimension; required with custom_dimension_key."
    )

    @property
    def filters(self) -> SegmentFilters:
        """The segment filters; raises InvalidFilterError with every invalid one."""
        return SegmentFilters.from_query(self.model_dump())


class TimeseriesQuery(SegmentQuery):
    """Segment filters and the goal of daily results."""

    goal_id: str | None = Field(None, description="One goal instead of the primary goal.")


class SegmentsQuery(BaseModel):
    """Parts of the segment report to return; the analysis covers all segments."""

    goal_id: str | None = Field(None, description="One goal instead of all.")
    dimension: str | None = Field(None, description="One dimension, such as `country` or `custom:plan`.")


class ExportQuery(SegmentQuery):
    """Segment filters and the format of an export."""

    format: Form = Field("parquet", description="File format.")


class CustomDimension(BaseModel):
    """A custom dimension."""

    key: str
    label: str
    values: list[str]


class AvailableSegments(BaseModel):
    """Values of the segment filters."""

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
