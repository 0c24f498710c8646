"""Members: list, add, change and remove; written by an account-wide key of an owner or admin."""

from typing import Annotated

from fastapi import Path

from api.bodies.json_body import JsonObject
from api.deps import AccountReader, CatalogDep, KeyManager
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.account import Member, MemberChanges, MemberInput
from api.schemas.envelopes import Single
from pipeline.requests.members import add_member, change_member

router = router_at(
    PREFIX + "/account/members",
    tags=["Account"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES),
)
MemberId = Annotated[str, Path(alias="id")]


@router.get("")
def list_members(caller: AccountReader, catalog: CatalogDep) -> Single[list[Member]]:
    """List the accepted members of the account, in the order they joined."""
    return Single(data=[Member.of(member) for member in catalog.members.accepted(caller.account.id)])


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(MemberInput))
def create_member(caller: KeyManager, body: JsonObject, catalog: CatalogDep) -> Single[Member]:
    """Add a member with at most the role of the key's holder; `create_api_key` makes its keys."""
    return Single(data=Member.of(add_member(catalog, caller.key, body)))


@router.patch(
    "/{id}",
    responses=documented(*BODY_CODES, "not_found", "last_owner"),
    openapi_extra=taking(MemberChanges),
)
def update_member(
    caller: KeyManager, member_id: MemberId, body: JsonObject, catalog: CatalogDep
) -> Single[Member]:
    """Change the name or role of a member; what its API keys may follows the role at once."""
    return Single(data=Member.of(change_member(catalog, caller.key, member_id, body)))


@router.delete("/{id}", status_code=204, responses=documented("not_found", "last_owner"))
def delete_member(caller: KeyManager, member_id: MemberId, catalog: CatalogDep) -> None:
    """Remove a member with its API keys, at once and permanently; the only owner of an account stays."""
    key = caller.key
    catalog.members.remove(caller.account.id, member_id, actor=caller.actor, by=key.member_id)
