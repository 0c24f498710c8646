"""How one resource and a page of them are wrapped."""

from typing import Generic, TypeVar

from pydantic import BaseModel, Field

Item = TypeVar("Item")


class Single(BaseModel, Generic[Item]):
    """One resource."""

    data: Item


class Meta(BaseModel):
    """Which page this is."""

    page: int
    per_page: int
    total: int = Field(description="Items on all pages.")


class Listing(BaseModel, Generic[Item]):
    """One page of resources."""

    data: list[Item]
    meta: Meta
