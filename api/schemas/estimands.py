"""What results are about, where weights changed: on the wire."""

from dataclasses import asdict
from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas.numbers import percent
from engine.analysis.analyze import Report


class WeightEpoch(BaseModel):
    """From `started_at` on, until the next epoch, new visitors were split by `weights`."""

    started_at: datetime
    weights: dict[str, float] = Field(description="By variant id; the first epoch's are those configured.")
    visitors: dict[str, int] = Field(description="First exposed in this epoch; by variant id.")


class Estimand(BaseModel):
    """What comparisons are of, where weights changed on the way."""

    description: str
    compared_percentage: float | None = Field(
        description="Visitors who are compared, of a variant's and the control's; the least of all variants."
    )
    epochs: list[WeightEpoch]

    @classmethod
    def of(cls, report: Report) -> "Estimand | None":
        """Describe it; None where weights never changed."""
        found = report.estimand
        if found is None:
            return None
        return cls(
            description=found.description,
            compared_percentage=percent(found.compared_share),
            epochs=[WeightEpoch(**asdict(epoch)) for epoch in found.epochs],
        )
