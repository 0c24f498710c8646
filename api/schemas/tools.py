"""What the planning tools take and give: on the wire."""

from dataclasses import asdict

from pydantic import BaseModel, Field

from engine.design.planning import calculator


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
