"""Query parameters that filter results by segment, and answers about the available values."""

from datetime import date
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic.config import JsonDict

from engine.errors import Problem
from engine.local_days import read_day
from engine.validation.values import shown
from engine.vocabulary import SEGMENT_VALUES
from pipeline.results.filters import InvalidFilterError, SegmentFilters
from pipeline.results.nights import AS_OF
from pipeline.store.warehouse.visitor_export import Form


def _closed(name: str) -> JsonDict:
    return {"enum": list(SEGMENT_VALUES[name])}


def _refuse_night(value: str | None) -> None:
    if value is not None:
        raise ValueError("segments and visitors are not kept of past nights; leave out as_of")


def _read_day(value: str) -> date:
    try:
        return read_day(value)
    except ValueError:
        raise ValueError(f"must be a day such as 2026-11-20, not {shown(value)}") from None


# Otherwise numbers and times would be taken for days.
Day = Annotated[date, BeforeValidator(_read_day)]
# Otherwise the parameter would be ignored, and the present taken for a past night.
NoNight = Annotated[str | None, AfterValidator(_refuse_night)]
_NO_NIGHT: Final = "Refused: segments and visitors are not kept of past nights."


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


class ResultsQuery(SegmentQuery):
    """Segment filters, or a past night."""

    as_of: Day | None = Field(
        None,
        description="Results as they were published after the midnight with which this local day began; all "
        "visitors only.",
    )

    @property
    def night(self) -> date | None:
        """The night that is asked for; InvalidFilterError together with filters, which no night keeps."""
        if self.as_of is not None and self.filters.given:
            message = "past nights are kept of all visitors only; leave out the filters, or as_of"
            raise InvalidFilterError((Problem(AS_OF, message),))
        return self.as_of


class TimeseriesQuery(ResultsQuery):
    """Segment filters and the goal of daily results."""

    goal_id: str | None = Field(None, description="One goal instead of the primary goal.")


class SegmentsQuery(BaseModel):
    """Parts of the segment report to return; the analysis covers all segments."""

    goal_id: str | None = Field(None, description="One goal instead of all.")
    dimension: str | None = Field(None, description="One dimension, such as `country` or `custom:plan`.")
    as_of: NoNight = Field(None, description=_NO_NIGHT)


class ExportQuery(SegmentQuery):
    """Segment filters and the format of an export."""

    format: Form = Field("parquet", description="File format.")
    as_of: NoNight = Field(None, description=_NO_NIGHT)


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
