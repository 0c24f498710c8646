"""Authentication and permissions: the caller of a request, and what its key allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from fastapi.security import HTTPBearer

from api.errors import ApiError
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.keys import ApiKey, RefusedKey, Scope
from pipeline.store.catalog.members import Member

bearer: Final = HTTPBearer(
    scheme_name="bearer",
    bearerFormat="svc_<environment>_<token id>_<secret>",
    description="An API key. Its scopes and projects bound what it reaches.",
    auto_error=False,
)

# Notes a refused key, and returns the headers of its answer.
NoteRefusal: TypeAlias = Callable[[RefusedKey], Mapping[str, str]]


class OutOfReachError(NotFoundError):
    """A resource that the key does not reach; answered like one that does not exist."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated key and its account."""

    key: ApiKey
    account: Account

    @property
    def actor(self) -> str:
        """The actor in audit entries: the key's id."""
        return self.key.id


def authenticate(token: str | None, catalog: Catalog, now: datetime, note: NoteRefusal) -> Caller:
    """Authenticate a bearer token, and note a refused one; ApiError `invalid_api_key`.

    A missing, malformed, unknown, wrong or revoked token gets the same answer after the same work, so that
    neither the answer nor its time tells which it is.
    """
    found = catalog.keys.find_by_token(token or "", now=now)
    if isinstance(found, RefusedKey):
        raise invalid_key("send a valid API key in the header `Authorization: Bearer <API_KEY>`", note(found))
    return Caller(found, catalog.accounts.get(found.account_id))


def invalid_key(message: str, headers: Mapping[str, str]) -> ApiError:
    """Build the refusal of a key, with more headers of its answer."""
    return ApiError("invalid_api_key", message, headers={"WWW-Authenticate": "Bearer", **headers})


def require_served(caller: Caller) -> None:
    """Require a served subscription; ApiError `account_inactive`."""
    if not caller.account.is_served:
        status = caller.account.subscription_status
        raise ApiError("account_inactive", f"the account's subscription is {status}; renew it to go on")


def require_scope(caller: Caller, *scopes: Scope | str) -> None:
    """Require every one of `scopes`; ApiError `forbidden`."""
    missing = [scope for scope in scopes if scope not in caller.key.scopes]
    if missing:
        raise ApiError("forbidden", f"this key lacks the scope {', '.join(missing)}")


def require_any_scope(caller: Caller, *scopes: Scope | str) -> None:
    """Require at least one of `scopes`; ApiError `forbidden`."""
    if not set(scopes) & set(caller.key.scopes):
        raise ApiError("forbidden", f"this key needs one of the scopes {', '.join(scopes)}")


def require_key_manager(holder: Member) -> None:
    """Require a member that may manage keys; ApiError `forbidden`."""
    if not holder.manages_keys:
        raise ApiError("forbidden", f"keys are managed by owners and admins; this key is a {holder.role}'s")


def require_account_wide(caller: Caller) -> None:
    """Require a key that is not restricted to some projects; ApiError `forbidden`."""
    if not caller.key.is_account_wide:
        raise ApiError("forbidden", "this key is restricted to its projects; use an account-wide key")
