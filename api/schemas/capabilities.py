"""Answers about capabilities: the targeting fields."""

from pydantic import BaseModel, Field

from engine.design.targeting import fields
from engine.design.targeting.fields import DataType, Evaluation


class TargetingField(BaseModel):
    """A visitor attribute for targeting rules."""

    data_type: DataType = Field(description="Type of the field's values.")
    operators: list[str] = Field(
        description="Operators that a condition on the field may have.", examples=[["equals", "in"]]
    )
    evaluation: Evaluation = Field(
        description="Where the attribute is known: `server_first` on the server, `server_and_client` on both."
    )
    widget: str = Field(description="Suggested form control.", examples=["select"])
    requires_key: bool = Field(description="Whether a condition needs a `key`, such as the name of a cookie.")
    enum_values: list[str] | None = Field(
        None, description="All values of an enumeration.", examples=[["desktop", "mobile"]]
    )

    @classmethod
    def of(cls, field: fields.TargetingField) -> "TargetingField":
        """Describe a field."""
        return cls(**{name: getattr(field, name) for name in cls.model_fields})
