"""Bodies and answers about API keys; only the answer of creation has the secret."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from pipeline.store.catalog import keys
from pipeline.store.catalog.keys import Environment, Scope

PROJECTS = "Ids of the projects that the key can access; all projects of the account if empty."


class ApiKeyInput(BaseModel):
    """An API key to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Nightly import", "scopes": ["projects:write"]}]},
    )
    name: str = Field(max_length=255, description="Purpose of the key.", examples=["Nightly import"])
    environment: Environment = Field(
        "live", description="A label; keys of both environments access the same data."
    )
    scopes: list[Scope] = Field(
        min_length=1, description="Scopes of the key; the creating key must have each of them."
    )
    project_ids: list[str] = Field(default=[], description=PROJECTS, examples=[["prj_x7km3qv2c5tzhn6d4wrp"]])
    member_id: str | None = Field(
        None,
        description="Id of the member that is to hold it; the holder of the creating key if absent.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )


class IssuedKey(BaseModel):
    """An API key without usage data."""

    id: str
    name: str
    environment: Environment
    key_prefix: str = Field(
        description="The token without its secret, to identify the key.",
        examples=["svc_live_4fb3c3dba2e71ca7"],
    )
    scopes: list[Scope]
    project_ids: list[str] = Field(description=PROJECTS, examples=[["prj_x7km3qv2c5tzhn6d4wrp"]])
    member_id: str = Field(
        description="Id of the member that holds it; with the member, the key goes.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )
    created_at: datetime

    @classmethod
    def of(cls, found: keys.ApiKey) -> "IssuedKey":
        """Describe a key that was just created."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class ApiKey(IssuedKey):
    """An API key."""

    last_used_at: datetime | None = Field(description="Time of the last request, to the minute.")
    revoked_at: datetime | None = Field(description="Time of the revocation, in UTC; null while it is valid.")

    @classmethod
    def of(cls, found: keys.ApiKey) -> "ApiKey":
        """Describe a key."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class NewApiKey(BaseModel):
    """A new API key with its token."""

    token: str = Field(
        description="Send it as `Authorization: Bearer <token>`. It is shown only once.",
        examples=["svc_live_4fb3c3dba2e71ca7_REPLACED"],
    )
    api_key: IssuedKey = Field(description="The key that was created.")


class RevokedApiKey(BaseModel):
    """A revoked API key."""

    api_key: ApiKey = Field(description="The key, without its secret.")
