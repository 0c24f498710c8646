"""API keys: create, list and revoke, by an account-wide key of an owner or admin."""

from typing import Annotated

from fastapi import Path, Response

from api.bodies.json_body import JsonObject
from api.deps import CatalogDep, KeyManager, Now
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.api_keys import ApiKey, ApiKeyInput, IssuedKey, NewApiKey, RevokedApiKey
from api.schemas.envelopes import Single
from pipeline.requests.api_keys import create_key

router = router_at(
    PREFIX + "/account/api_keys",
    tags=["API keys"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES),
)
KeyId = Annotated[str, Path(alias="id")]


@router.get("")
def list_api_keys(caller: KeyManager, catalog: CatalogDep) -> Single[list[ApiKey]]:
    """List the account's keys without their secrets, newest first, including revoked ones."""
    return Single(data=[ApiKey.of(key) for key in catalog.keys.of_account(caller.account.id)])


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(ApiKeyInput))
def create_api_key(
    caller: KeyManager, body: JsonObject, catalog: CatalogDep, response: Response
) -> Single[NewApiKey]:
    """Create a key with at most the scopes of the key that creates it. Its token is shown only once."""
    key, token = create_key(catalog, caller.key, body)
    # No cache on the way may keep a secret.
    response.headers["Cache-Control"] = "no-store"
    return Single(data=NewApiKey(token=token, api_key=IssuedKey.of(key)))


@router.post("/{id}/revoke", responses=documented("not_found"))
def revoke_api_key(caller: KeyManager, key_id: KeyId, catalog: CatalogDep, now: Now) -> Single[RevokedApiKey]:
    """Revoke a key of a member of at most your role, at once and permanently; again changes nothing."""
    member_id = caller.key.member_id
    revoked = catalog.keys.revoke(caller.account.id, key_id, now=now, actor=caller.actor, by=member_id)
    return Single(data=RevokedApiKey(api_key=ApiKey.of(revoked)))
