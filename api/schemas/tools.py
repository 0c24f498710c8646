"""Answers of the planning tools."""

from dataclasses import asdict

from pydantic import BaseModel, Field

from engine.design.planning import calculator


class SampleSize(BaseModel):
    """Required sample size; null where no number of visitors is enough, or without daily_visitors."""

    visitors_per_variant: int | None = Field(
        description="Visitors that each variant needs; null where no number is enough.", examples=[14751]
    )
    visitors_total: int | None = Field(
        description="Visitors of all variants together; null where no number is enough.", examples=[29502]
    )
    detectable_effect: float | None = Field(
        description="Smallest lift that is detected with that power, in percent.", examples=[10.0]
    )
    days: int | None = Field(
        description="Days that it takes at the visitors a day; null without them.", examples=[30]
    )
    days_in_whole_weeks: int | None = Field(
        description="Days rounded up to whole weeks, as weekdays and weekends differ.", examples=[35]
    )

    @classmethod
    def of(cls, found: calculator.SampleAnswer) -> "SampleSize":
        """Describe an answer."""
        fields = asdict(found)
        effect = fields["detectable_effect"]
        return cls(**{**fields, "detectable_effect": None if effect is None else round(effect, 2)})
