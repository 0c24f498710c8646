"""What the planning tools take and give: on the wire."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field

from engine.design.planning import calculator
from engine.design.planning.stopping import StoppingMethod


class SampleSizeInput(BaseModel):
    """A metric, and either the effect to find or the visitors there are."""

    model_config = ConfigDict(extra="forbid")
    baseline_rate: float | None = Field(None, description="Percent of the control's visitors who convert.")
    baseline_mean: float | None = Field(None, description="Instead: the mean per visitor, in any unit.")
    standard_deviation: float | None = Field(None, description="Goes with baseline_mean, in its unit.")
    effect: float | None = Field(None, description="Percent of change against the control, to be found.")
    visitors_per_variant: int | None = Field(None, ge=2, description="Instead: the visitors there are.")
    daily_visitors: float | None = Field(None, description="Of all variants together, to learn the days.")
    confidence_level: int = Field(95, ge=50, le=99)
    power: float = Field(80, description="Percent of tests that find the effect where it is true.")
    variants: int = Field(2, ge=2, le=20, description="The control included.")
    method: StoppingMethod = Field("fixed", description="How often one looks; `fixed` is once, at the end.")
    looks: int = Field(28, ge=1, le=365, description="Of the methods that look more than once.")
    margin: float | None = Field(None, description="Percent worse that is acceptable: plans non-inferiority.")
    correlation: float = Field(0, description="Of the metric with what is known of visitors beforehand.")


class SampleSize(BaseModel):
    """What the test needs and finds; null where no number of visitors would do, or there is no pace."""

    visitors_per_variant: int | None
    visitors_total: int | None
    detectable_effect: float | None = Field(description="Percent: the smallest change found with that power.")
    days: int | None
    days_in_whole_weeks: int | None = Field(description="Weekdays and weekends differ: plan whole weeks.")

    @classmethod
    def of(cls, found: calculator.SampleAnswer) -> "SampleSize":
        """Describe an answer."""
        fields = asdict(found)
        effect = fields["detectable_effect"]
        return cls(**{**fields, "detectable_effect": None if effect is None else round(effect, 2)})
