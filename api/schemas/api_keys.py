"""An API key on the wire: its secret is in one answer, and never again."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from pipeline.store.catalog import keys
from pipeline.store.catalog.keys import Environment, Scope

PROJECTS = "The projects that it reaches; every project of the account if empty."


class ApiKeyInput(BaseModel):
    """An API key to create."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=255, description="What the key is for.")
    environment: Environment = Field("live", description="A label: both reach the same data.")
    scopes: list[Scope] = Field(min_length=1, description="Scopes that the creating key has itself.")
    project_ids: list[str] = Field(default=[], description=PROJECTS)


class IssuedKey(BaseModel):
    """What is known of a key from the start."""

    id: str
    name: str
    environment: Environment
    key_prefix: str = Field(description="The token without its secret, to tell keys apart.")
    scopes: list[Scope]
    project_ids: list[str] = Field(description=PROJECTS)
    created_at: datetime

    @classmethod
    def of(cls, found: keys.ApiKey) -> "IssuedKey":
        """Describe a key that was just created."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class ApiKey(IssuedKey):
    """A key as listed."""

    last_used_at: datetime | None = Field(description="To the minute.")
    revoked_at: datetime | None

    @classmethod
    def of(cls, found: keys.ApiKey) -> "ApiKey":
        """Describe a key."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class NewApiKey(BaseModel):
    """A key that was just created, and the only sight of its token."""

    token: str = Field(description="Send it as `Authorization: Bearer <token>`; it is shown this once.")
    api_key: IssuedKey


class RevokedApiKey(BaseModel):
    """A key that works no more."""

    api_key: ApiKey
