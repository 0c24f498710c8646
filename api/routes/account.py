"""The account of the key: what it is, who belongs to it, and what it uses of its plan."""

from fastapi import APIRouter

from api.deps import AccountReader, CatalogDep
from api.errors import KEY_CODES, documented
from api.schemas.account import Account, Member, Usage
from api.schemas.envelopes import Single

router = APIRouter(prefix="/account", tags=["Account"], responses=documented(*KEY_CODES))


@router.get("")
def get_account(caller: AccountReader) -> Single[Account]:
    """Get the account, its plan and its subscription."""
    return Single(data=Account.of(caller.account))


@router.get("/members")
def list_members(caller: AccountReader, catalog: CatalogDep) -> Single[list[Member]]:
    """List who has accepted to belong to the account, in the order they joined."""
    return Single(data=[Member.of(member) for member in catalog.members.accepted(caller.account.id)])


@router.get("/usage")
def get_usage(caller: AccountReader, catalog: CatalogDep) -> Single[Usage]:
    """Get what the plan allows and what is left of it: worth a look before creating a project."""
    return Single(data=Usage.of(caller.account, catalog.projects.count(caller.account.id)))
