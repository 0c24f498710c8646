"""Query parameters that filter results by segment and by day, and answers about the available values."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model
from pydantic.config import JsonDict

from engine.errors import Problem
from engine.local_days import read_day
from engine.validation.values import shown
from pipeline.results.filters import FROM, InvalidFilterError, SegmentFilters
from pipeline.results.nights import AS_OF
from pipeline.store.event_columns import DIMENSIONS, Dimension
from pipeline.store.warehouse.visitor_export import Form


def _refuse_night(value: str | None) -> None:
    if value is not None:
        raise ValueError("segments and visitors are not kept of past nights; leave out as_of")


def _refuse_days(value: str | None) -> None:
    if value is not None:
        raise ValueError("only results, summary and time series are told by day of exposure; leave it out")


def _read_day(value: str) -> date:
    try:
        return read_day(value)
    except ValueError:
        raise ValueError(f"must be a day such as 2026-11-20, not {shown(value)}") from None


# Otherwise numbers and times would be taken for days.
Day = Annotated[date, BeforeValidator(_read_day)]
# Otherwise the parameter would be ignored, and the present taken for a past night.
NoNight = Annotated[str | None, AfterValidator(_refuse_night)]
NoDays = Annotated[str | None, AfterValidator(_refuse_days)]
_NO_NIGHT: Final = "Refused: segments and visitors are not kept of past nights."
_NO_DAYS: Final = "Refused."


def _filter(dimension: Dimension) -> tuple[Any, Any]:
    closed: JsonDict | None = {"enum": [*dimension.values]} if dimension.values else None
    return str | None, Field(None, json_schema_extra=closed)


_FILTERS: Final[dict[str, Any]] = {name: _filter(dimension) for name, dimension in DIMENSIONS.items()}
_VALUES: Final[dict[str, Any]] = {dimension.plural: (list[str], []) for dimension in DIMENSIONS.values()}
# Fields that follow from the table of dimensions, which a type checker cannot know.
_DimensionFilters: Any = create_model("DimensionFilters", **_FILTERS)
_DimensionValues: Any = create_model("DimensionValues", **_VALUES)


class SegmentQuery(_DimensionFilters, BaseModel):
    """Filters by visitors' attributes at first exposure; several combine with AND."""

    custom_dimension_key: str | None = Field(None, description="Required with custom_dimension_value.")
    custom_dimension_value: str | None = Field(None, description="Required with custom_dimension_key.")

    @property
    def filters(self) -> SegmentFilters:
        """The segment filters; raises InvalidFilterError with every invalid one."""
        return SegmentFilters.from_query(self.model_dump())


class ResultsQuery(SegmentQuery):
    """Segment filters and days of first exposure, or a past night."""

    as_of: Day | None = Field(
        None,
        description="Results published after the night that began this local day; all visitors only.",
    )
    reached: bool = Field(False, description="Those who sent `exposure`'s event, as of last night.")
    from_: Day | None = Field(
        None,
        alias=FROM,
        description="First local day of first exposure: exploratory.",
    )
    to: Day | None = Field(None, description="Last such day.")

    @property
    def filters(self) -> SegmentFilters:
        """The filters by segment and day; raises InvalidFilterError with every invalid one."""
        return replace(super().filters, first_day=self.from_, last_day=self.to, reached=self.reached)

    @property
    def night(self) -> date | None:
        """The night that is asked for; InvalidFilterError together with filters, which no night keeps."""
        if self.as_of is not None and not self.filters.is_everyone:
            message = "past nights are kept of all visitors only; leave out the filters, or as_of"
            raise InvalidFilterError((Problem(AS_OF, message),))
        return self.as_of


class TimeseriesQuery(ResultsQuery):
    """Filters and the goal of daily results."""

    goal_id: str | None = Field(None, description="One goal instead of the primary goal.")


class SegmentsQuery(BaseModel):
    """Parts of the segment report to return; the analysis covers all segments."""

    goal_id: str | None = Field(None, description="One goal instead of all.")
    dimension: str | None = Field(None, description="One dimension, such as `country` or `custom:plan`.")
    as_of: NoNight = Field(None, description=_NO_NIGHT)
    from_: NoDays = Field(None, alias=FROM, description=_NO_DAYS)
    to: NoDays = Field(None, description=_NO_DAYS)


class ExportQuery(SegmentQuery):
    """Segment filters and the format of an export."""

    format: Form = Field("parquet", description="File format.")
    as_of: NoNight = Field(None, description=_NO_NIGHT)
    from_: NoDays = Field(None, alias=FROM, description=_NO_DAYS)
    to: NoDays = Field(None, description=_NO_DAYS)


class CustomDimension(BaseModel):
    """A custom dimension."""

    key: str
    label: str
    values: list[str]


class AvailableSegments(_DimensionValues, BaseModel):
    """Values of the segment filters; of sums from a warehouse, `other` are those of fewer than 5 visitors."""

    custom_dimensions: list[CustomDimension] = []
