"""Fields of results as answers of the API give them: unit, description and name."""

from dataclasses import dataclass
from typing import Any, Final, Literal

# A share is answered in `percent`, and compared with the threshold or all of it: `score`, `progress`. By the
# goal's unit: `mean`, and in percentage points or as it is, `difference`. `days` have two decimals.
AnswerUnit = Literal["percent", "score", "progress", "mean", "difference", "days"]


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field in answers, beside the type of a record's field; by default as it is, under the same name."""

    unit: AnswerUnit | None = None
    description: str | None = None
    name: str | None = None
    is_answered: bool = True
    example: Any = None


PERCENT: Final = AnswerField("percent")
SCORE: Final = AnswerField("score")
PROGRESS: Final = AnswerField("progress", name="score_progress_percentage")
NOT_ANSWERED: Final = AnswerField(is_answered=False)


def described(description: str, example: Any = None) -> AnswerField:  # noqa: ANN401 - of any field
    """Describe a field that is answered as it is."""
    return AnswerField(description=description, example=example)
