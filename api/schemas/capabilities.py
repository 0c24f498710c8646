"""What experiments can be built of: on the wire."""

from pydantic import BaseModel, Field

from engine.design.targeting import fields
from engine.design.targeting.fields import DataType, Evaluation


class TargetingField(BaseModel):
    """An attribute of a visitor that targeting rules can ask about."""

    data_type: DataType
    operators: list[str]
    evaluation: Evaluation = Field(description="`server_first`: only the server knows it for certain.")
    widget: str = Field(description="What a form would ask for it with.")
    requires_key: bool = Field(description="Whether a condition names which one, in `key`.")
    enum_values: list[str] | None = Field(None, description="Every possible value, where there are few.")

    @classmethod
    def of(cls, field: fields.TargetingField) -> "TargetingField":
        """Describe a field."""
        return cls(**{name: getattr(field, name) for name in cls.model_fields})
