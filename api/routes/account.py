"""Account: plan, usage and audit trail."""

from typing import Annotated

from fastapi import Query, Request

from api.deps import AccountAuditor, AccountReader, CatalogDep, PerPage, require_once
from api.errors import KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.routers import PREFIX, router_at
from api.schemas.account import Account, AuditEntry, AuditQuery, Usage
from api.schemas.envelopes import Listing, Meta, Single

router = router_at(
    PREFIX + "/account", tags=["Account"], route_class=IdempotentRoute, responses=documented(*KEY_CODES)
)


@router.get("")
def get_account(caller: AccountReader) -> Single[Account]:
    """Get the account, its plan and its subscription."""
    return Single(data=Account.of(caller.account))


@router.get("/usage")
def get_usage(caller: AccountReader, catalog: CatalogDep) -> Single[Usage]:
    """Get the plan's limits and what is left of them; check this before creating a project."""
    return Single(data=Usage.of(caller.account, catalog.projects.count(caller.account.id)))


@router.get("/audit", responses=documented("validation_error"))
def list_audit_entries(
    request: Request,
    caller: AccountAuditor,
    catalog: CatalogDep,
    query: Annotated[AuditQuery, Query()],
    per_page: PerPage = 25,
) -> Listing[AuditEntry]:
    """List who changed what in the account, newest first; for an account-wide key of an owner or admin."""
    require_once(request, AuditQuery.model_fields)
    page = query.page
    found = catalog.audit.find(caller.account.id, query.wanted, page=page, per_page=per_page)
    names = {key.id: key.name for key in catalog.keys.of_account(caller.account.id)}
    return Listing(
        data=[AuditEntry.of(entry, names) for entry in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )
