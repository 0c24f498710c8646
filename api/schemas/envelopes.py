"""Envelopes of answers: one resource, or a page of resources."""

from typing import Generic, TypeVar

from pydantic import BaseModel, Field

Item = TypeVar("Item")


class Single(BaseModel, Generic[Item]):
    """One resource."""

    data: Item


class Meta(BaseModel):
    """Position and size of a page."""

    page: int
    per_page: int
    total: int = Field(description="Number of items on all pages.", examples=[1])


class Listing(BaseModel, Generic[Item]):
    """One page of resources."""

    data: list[Item]
    meta: Meta
