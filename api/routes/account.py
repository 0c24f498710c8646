"""Account: plan, members and usage."""

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
    """List the accepted members of the account, in the order they joined."""
    return Single(data=[Member.of(member) for member in catalog.members.accepted(caller.account.id)])


@router.get("/usage")
def get_usage(caller: AccountReader, catalog: CatalogDep) -> Single[Usage]:
    """Get the plan's limits and what is left of them; check this before creating a project."""
    return Single(data=Usage.of(caller.account, catalog.projects.count(caller.account.id)))
