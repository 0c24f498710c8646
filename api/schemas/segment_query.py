"""The query parameters that filter results; which values they take is judged by the results themselves."""

from pydantic import BaseModel, Field
from pydantic.config import JsonDict, JsonValue

from pipeline.results import SegmentFilters


def _one_of(*values: JsonValue) -> JsonDict:
    return {"enum": list(values)}


class SegmentQuery(BaseModel):
    """Filters by what a visitor was at the first exposure; several combine with AND."""

    traffic_source: str | None = None
    device_type: str | None = Field(None, json_schema_extra=_one_of("desktop", "mobile", "tablet"))
    visitor_type: str | None = Field(None, json_schema_extra=_one_of("new", "returning"))
    day_of_week: str | None = Field(None, json_schema_extra=_one_of("weekday", "weekend"))
    country: str | None = Field(None, description="Country code.")
    region: str | None = None
    os: str | None = None
    browser: str | None = None
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    visitor_identity: str | None = Field(None, json_schema_extra=_one_of("identified", "anonymous"))
    custom_dimension_key: str | None = Field(None, description="Goes together with custom_dimension_value.")
    custom_dimension_value: str | None = Field(None, description="Goes together with custom_dimension_key.")

    @property
    def given(self) -> dict[str, str]:
        """The filters that were sent, as they were sent."""
        return {name: getattr(self, name) for name in SegmentQuery.model_fields if getattr(self, name)}

    @property
    def filters(self) -> SegmentFilters:
        """What they select; InvalidFilterError names every one that cannot be."""
        return SegmentFilters.from_query(self.given)


class TimeseriesQuery(SegmentQuery):
    """The same, and which goal."""

    goal_id: str | None = Field(None, description="One goal instead of the primary goal.")
