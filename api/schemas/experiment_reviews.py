"""Answers about reviews of experiments."""

from datetime import datetime

from pydantic import BaseModel, Field

from engine.vocabulary import ReviewPurpose, ReviewState


class Review(BaseModel):
    """A review that was asked for, and its answer."""

    purpose: ReviewPurpose = Field(
        description="`start`: of a draft with its ramp, or a resume; `ship`: of a variant.",
        examples=["start"],
    )
    state: ReviewState = Field(
        description="`changed`: after it was asked for; `closed`: replaced, or not needed any more.",
        examples=["waiting"],
    )
    variant_id: str | None = Field(description="The variant to ship; null for a start.", examples=[None])
    accept_risks: list[str] = Field(description="Risks to accept, as by `ship`.", examples=[[]])
    rollout: bool = Field(description="Whether everybody is shown the variant.", examples=[True])
    note: str | None = Field(description="For the reviewer.", examples=["Goals checked twice."])
    asked_at: datetime = Field(description="Time of the request, in UTC.")
    asked_by: str = Field(description="Id of the member who asked.", examples=["mem_c5hn2qk7vxm3tz6d4wpr"])
    asked_by_name: str = Field(description="Name at that time.", examples=["Mia Lang"])
    approved_at: datetime | None = Field(description="Time of the yes; null without one.")
    approved_by: str | None = Field(
        description="Id of the member who approved.", examples=["mem_m3tz6d4wprc5hn2qk7vx"]
    )
    approved_by_name: str | None = Field(description="Name at that time.", examples=["Bo Sand"])
    withdrawn_at: datetime | None = Field(description="Time of the withdrawal; null without one.")
    withdrawn_by: str | None = Field(description="Id of the member who withdrew it.", examples=[None])
    withdrawn_by_name: str | None = Field(description="Name at that time.", examples=[None])
    answer: str | None = Field(
        description="Note of the member who approved or withdrew.", examples=["Fine, in both languages."]
    )
