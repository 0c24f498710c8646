"""Results by day: on the wire."""

from pydantic import BaseModel, Field

from api.schemas.numbers import in_percents
from engine.analysis import analyze as judged


class DayOfVariant(BaseModel):
    """One variant on one day."""

    visitors: int = Field(description="First exposed that day.")
    conversions: int = Field(description="Converted first that day.")
    conversion_rate: float
    revenue_cents: int = Field(description="Of the orders of that day.")
    revenue_per_visitor_cents: float


class Day(BaseModel):
    """One calendar day in the project's reporting timezone."""

    date: str = Field(description="YYYY-MM-DD.")
    variants: dict[str, DayOfVariant] = Field(description="By variant id.")


def days_of(goal: judged.GoalReport) -> list[Day]:
    """Describe the days of one goal, from the start, without a gap."""
    return [
        Day(
            date=day.isoformat(),
            variants={variant: DayOfVariant(**in_percents(found)) for variant, found in variants.items()},
        )
        for day, variants in goal.days
    ]
