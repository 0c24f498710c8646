"""Answers about sums that were counted outside."""

from datetime import datetime

from pydantic import BaseModel, Field

from engine.local_days import from_epoch_microseconds
from pipeline.store.warehouse.published import Published


class Sums(BaseModel):
    """What is published of an experiment, and the rules that sums are to be counted by."""

    experiment_id: str
    fingerprint: str = Field(
        description="Of the counting rules of now; sums by other rules are refused.",
        examples=["5d41402abc4b2a76"],
    )
    sums_from: str | None = Field(
        description="Who counted the published sums; null where this service counts events itself.",
        examples=["warehouse"],
    )
    watermark: datetime | None = Field(
        description="Time up to which every event is counted; null before the first count."
    )
    digest: str | None = Field(
        description="Of the content of sums from outside.", examples=["7d793037a0760186"]
    )
    is_final: bool = Field(description="Whether they reach the experiment's end: then no others are taken.")

    @classmethod
    def of(cls, experiment_id: str, fingerprint: str, record: Published | None) -> "Sums":
        """Describe what is published of an experiment; None where nothing is."""
        return cls(
            experiment_id=experiment_id,
            fingerprint=fingerprint,
            sums_from=record.sums_from if record else None,
            watermark=from_epoch_microseconds(record.as_of) if record else None,
            digest=record.sums_digest if record else None,
            is_final=record is not None and record.is_final,
        )


class SumsChange(Sums):
    """What is published of an experiment after sums were handed in."""

    is_changed: bool = Field(description="Whether the content was another one before.")
