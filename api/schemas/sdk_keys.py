"""Answers about the public keys of a project."""

from datetime import datetime

from pydantic import BaseModel, Field

from engine.design import project


class PreviousKey(BaseModel):
    """A public key that was replaced."""

    api_key: str = Field(
        description="Public key that was replaced, and is accepted until its grace period ends.",
        examples=["pk_w5c4hn6d2tzpf3kq7xm2"],
    )
    valid_until: datetime = Field(description="The SDK endpoints refuse the key from this moment on.")


class SdkKeys(BaseModel):
    """The public keys that the SDK endpoints accept for a project."""

    api_key: str = Field(
        description="The current public SDK key, `pk_<token id>`.", examples=["pk_w5c4hn6d2tzpf3kq7xm2"]
    )
    previous: list[PreviousKey] = Field(
        description="Replaced keys in their grace period, the last replaced first."
    )

    @classmethod
    def of(cls, found: project.Project, now: datetime) -> "SdkKeys":
        """Describe the keys of a project that work at `now`."""
        previous = [
            PreviousKey(api_key=key.sdk_key, valid_until=key.valid_until)
            for key in found.valid_previous_keys(now)
        ]
        return cls(api_key=found.sdk_key, previous=previous)
