"""Answers about exclusion groups of a project."""

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel, Field

from engine.design.exclusion.group_slots import SLOTS_OF_PERCENT, SlotRange, number_of
from engine.design.exclusion.slot_taking import GroupUse, planned_return, slots_of
from engine.design.experiment import Experiment
from engine.vocabulary import Status


class GroupSlotRange(BaseModel):
    """Slots of a group, of 10,000 in all."""

    first: int = Field(description="First slot, from 0.", examples=[0])
    beyond: int = Field(description="First slot beyond.", examples=[3000])

    @classmethod
    def of(cls, ranges: Iterable[SlotRange]) -> "list[GroupSlotRange]":
        """Describe ranges of slots."""
        return [cls(first=one.first, beyond=one.beyond) for one in ranges]


class GroupExperiment(BaseModel):
    """An experiment, or its rollout, that has slots of a group."""

    id: str = Field(examples=["exp_k3vq7xm2c5tzhn6d4wrp"])
    name: str
    status: Status
    percent: int = Field(description="Percent of the group's visitors.", examples=[30])
    slots: list[GroupSlotRange] = Field(description="Slots that it has, of 10,000.")
    is_rollout: bool = Field(description="Whether its rollout has them.")
    planned_end_at: datetime | None = Field(
        description="When the slots are given back by plan; null for no planned end."
    )

    @classmethod
    def of(cls, found: Experiment) -> "GroupExperiment":
        """Describe what an experiment has of its group."""
        slots = slots_of(found)
        return cls(
            id=found.id,
            name=found.name,
            status=found.status,
            percent=number_of(slots) // SLOTS_OF_PERCENT,
            slots=GroupSlotRange.of(slots),
            is_rollout=found.shipped is not None,
            planned_end_at=planned_return(found),
        )


class ExclusionGroup(BaseModel):
    """An exclusion group of a project: its experiments share no visitor."""

    id: str = Field(examples=["grp_q7xm2c5tzhn6d4wrpk3v"])
    project_id: str
    name: str = Field(description="Unique in the project.", examples=["Checkout pages"])
    free_percent: int = Field(description="Percent of its visitors that no experiment has.", examples=[70])
    free_slots: list[GroupSlotRange] = Field(description="Slots that no experiment has, of 10,000.")
    experiments: list[GroupExperiment] = Field(description="Experiments that have slots, oldest first.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, use: GroupUse) -> "ExclusionGroup":
        """Describe a group with its use."""
        group = use.group
        return cls(
            id=group.id,
            project_id=group.project_id,
            name=group.name,
            free_percent=use.free_percent,
            free_slots=GroupSlotRange.of(use.free),
            experiments=[GroupExperiment.of(one) for one in use.holders],
            created_at=group.created_at,
            updated_at=group.updated_at,
        )
