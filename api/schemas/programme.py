"""Answers about the programme of past tests."""

from pydantic import BaseModel, Field

from api.schemas.record_answers import Answer, answer, percent
from engine.analysis import programme
from engine.analysis.programme import MetricProgramme


class Programme(BaseModel):
    """The tests of a project that have ended, together."""

    ended: int = Field(description="Completed and archived experiments.", examples=[12])
    decided: int = Field(
        description="Those whose last look recommended `ship`, `rollback` or `review`.", examples=[9]
    )
    decisions: dict[str, int] = Field(
        description="Decided tests by recommendation.", examples=[{"ship": 3, "rollback": 2, "review": 4}]
    )
    conclusions: dict[str, int] = Field(
        description="Ended tests by what was decided about them: `ship`, `keep_control`, `inconclusive`.",
        examples=[{"ship": 3, "keep_control": 6, "inconclusive": 3}],
    )
    win_rate: float | None = Field(
        description="Percent of the decided tests that recommended to ship a variant.", examples=[33.33]
    )
    metrics: list[Answer[MetricProgramme]]

    @classmethod
    def of(cls, found: programme.Programme) -> "Programme":
        """Describe a programme."""
        return cls(
            ended=found.ended,
            decided=found.decided,
            decisions=dict(found.decisions),
            conclusions=dict(found.conclusions),
            win_rate=percent(found.win_rate),
            metrics=[answer(one) for one in found.metrics],
        )
