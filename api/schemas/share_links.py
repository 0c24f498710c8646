"""Answers about share links; only the answer of creation has the address."""

from datetime import datetime

from pydantic import BaseModel, Field

from pipeline.store.catalog.sharing import share_link_repository


class ShareLink(BaseModel):
    """A link to the results of an experiment, without its token."""

    id: str
    project_id: str
    experiment_id: str
    experiment_name: str = Field(description="Name of the experiment.", examples=["One-page checkout"])
    member_id: str = Field(
        description="Member whose key made the link; with its right, the link ends.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )
    member_name: str = Field(description="Name of the member.", examples=["Ada"])
    shows_money: bool = Field(description="Whether amounts of money are shown.")
    created_at: datetime
    expires_at: datetime = Field(description="Time from which the link does not work any more, in UTC.")
    revoked_at: datetime | None = Field(
        description="Time of the revocation, or of the end of its maker's right; null otherwise."
    )

    @classmethod
    def of(cls, found: share_link_repository.ShareLink) -> "ShareLink":
        """Describe a link."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class NewShareLink(BaseModel):
    """A new link with its address."""

    url: str = Field(
        description="Address of the page, for whoever has it. It is shown only once.",
        examples=["https://ab.shop.example/shared/REPLACED"],
    )
    share_link: ShareLink = Field(description="The link that was created.")


class RevokedShareLinks(BaseModel):
    """Number of links that were revoked."""

    revoked: int = Field(description="Links that worked until now.", examples=[3])
