"""The envelope of every answer that is not a success."""

from pydantic import BaseModel, Field


class ErrorDetail(BaseModel):
    """One thing wrong with one value."""

    field: str = Field(description="Path of the value, such as `variants[1].weight`.")
    message: str


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="Stable value to branch on.")
    message: str = Field(description="A sentence for people.")
    details: list[ErrorDetail] = Field(default=[], description="Each problem, where values are wrong.")
    request_id: str = Field(description="Quote it when reporting a problem; equals the X-Request-Id header.")


class ErrorEnvelope(BaseModel):
    """The envelope of every error."""

    error: ErrorBody
