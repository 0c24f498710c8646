"""Answers about the programme of past tests."""

from pydantic import BaseModel, Field

from api.schemas.percents import percent
from engine.analysis import programme
from engine.analysis.programme import Metric

_WANTED = "In percent of the control, in the wanted direction of the goal."


class PastLift(BaseModel):
    """Lift of a variant over the control in a past test."""

    experiment_id: str
    variant_id: str
    is_shipped: bool = Field(description="Whether the test's last look recommended to ship it.")
    observed_lift: float = Field(description=_WANTED)
    shrunk_lift: float | None = Field(
        description="The lift given all past lifts of the metric; null where there are fewer than two."
    )
    low: float | None = Field(description="Lower end of the 95% credible interval of `shrunk_lift`.")
    high: float | None


class ShippedTogether(BaseModel):
    """Compound lift of all variants that were to be shipped."""

    variants: int
    observed_lift: float = Field(
        description="Compound of the observed lifts: biased upwards, since winners were chosen by them."
    )
    lift: float = Field(description="Compound of the shrunk lifts, without that bias.")
    low: float = Field(description="Lower end of the 95% credible interval of `lift`.")
    high: float


class MetricProgramme(BaseModel):
    """Past lifts of primary goals with one metric."""

    metric: Metric
    lifts: list[PastLift]
    typical_lift: float | None = Field(description="Mean of the family of lifts, in percent.")
    spread: float | None = Field(description="Standard deviation of the family's log lifts, in percent.")
    shipped: ShippedTogether | None = Field(description="Null where nothing was to be shipped.")


class Programme(BaseModel):
    """The tests of a project that have ended, together."""

    ended: int = Field(description="Completed and archived experiments.")
    decided: int = Field(description="Those whose last look recommended `ship`, `rollback` or `review`.")
    decisions: dict[str, int] = Field(description="Decided tests by recommendation.")
    win_rate: float | None = Field(description="Percent of the decided tests that shipped a variant.")
    metrics: list[MetricProgramme]

    @classmethod
    def of(cls, found: programme.Programme) -> "Programme":
        """Describe a programme."""
        return cls(
            ended=found.ended,
            decided=found.decided,
            decisions=dict(found.decisions),
            win_rate=percent(found.win_rate),
            metrics=[_metric(one) for one in found.metrics],
        )


def _metric(found: programme.MetricProgramme) -> MetricProgramme:
    return MetricProgramme(
        metric=found.metric,
        lifts=[
            PastLift(
                experiment_id=lift.experiment_id,
                variant_id=lift.variant_id,
                is_shipped=lift.is_shipped,
                observed_lift=percent(lift.observed_lift),
                shrunk_lift=percent(lift.shrunk_lift),
                low=percent(lift.low),
                high=percent(lift.high),
            )
            for lift in found.lifts
        ],
        typical_lift=percent(found.typical_lift),
        spread=percent(found.spread),
        shipped=None if found.shipped is None else _together(found.shipped),
    )


def _together(shipped: programme.ShippedTogether) -> ShippedTogether:
    return ShippedTogether(
        variants=shipped.variants,
        observed_lift=percent(shipped.observed_lift),
        lift=percent(shipped.lift),
        low=percent(shipped.low),
        high=percent(shipped.high),
    )
