"""Share links: create, list and revoke those of an experiment, and all of an account."""

from fastapi import Response

from api.auth import require_scope
from api.bodies.json_body import OptionalJsonObject
from api.deps import (
    AccountAuditor,
    CatalogDep,
    ExperimentsWriter,
    KeyManager,
    Now,
    PageNumber,
    PerPage,
    ProjectOfWritableExperiments,
    ReadableExperiment,
    ServicesDep,
    WritableExperiment,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.middleware.token_in_path import SHARED
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import SHARE_INPUT
from api.schemas.share_links import NewShareLink, RevokedShareLinks, ShareLink
from engine.validation.input_records import read_record
from pipeline.requests.share_links import ShareRequest

router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}/share_links",
    tags=["Experiments"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
account_router = router_at(
    PREFIX + "/account/share_links",
    tags=["Account"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES),
)


@router.post(
    "",
    status_code=201,
    responses=documented(*BODY_CODES, "sharing_forbidden"),
    openapi_extra=taking(SHARE_INPUT, is_required=False),
)
def create_share_link(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    experiment: WritableExperiment,
    body: OptionalJsonObject,
    services: ServicesDep,
    now: Now,
    response: Response,
) -> Single[NewShareLink]:
    """Create a link to the results that needs no key. Takes results:read, too."""
    # Nobody shares what the key itself cannot read.
    require_scope(caller, "results:read")
    asked = read_record(body, ShareRequest, "a share link")
    link, token = services.catalog.share_links.create(
        project,
        experiment.id,
        caller.key.id,
        lifetime=asked.lifetime,
        shows_money=asked.shows_money,
        now=now,
    )
    # No cache on the way may keep a secret.
    response.headers["Cache-Control"] = "no-store"
    url = f"{str(services.settings.base_url).rstrip('/')}{SHARED}{token}"
    return Single(data=NewShareLink(url=url, share_link=ShareLink.of(link)))


@router.get("")
def list_share_links(experiment: ReadableExperiment, catalog: CatalogDep) -> Single[list[ShareLink]]:
    """List the newest 100 share links, ended ones too."""
    return Single(data=[ShareLink.of(one) for one in catalog.share_links.of_experiment(experiment.id)])


@router.delete("/{link_id}", status_code=204)
def revoke_share_link(
    caller: ExperimentsWriter,
    experiment: WritableExperiment,
    link_id: str,
    catalog: CatalogDep,
    now: Now,
) -> None:
    """Revoke a share link."""
    catalog.share_links.revoke(caller.account.id, experiment.id, link_id, actor=caller.actor, now=now)


@account_router.get("", responses=documented("validation_error"))
def list_account_share_links(
    caller: AccountAuditor, catalog: CatalogDep, now: Now, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[ShareLink]:
    """List the share links of the account that work now; for an account-wide key of an owner or admin."""
    found = catalog.share_links.open_of_account(caller.account.id, now=now, page=page, per_page=per_page)
    return Listing(
        data=[ShareLink.of(one) for one in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@account_router.delete("")
def revoke_account_share_links(
    caller: KeyManager, catalog: CatalogDep, now: Now
) -> Single[RevokedShareLinks]:
    """Revoke every share link of the account at once."""
    revoked = catalog.share_links.revoke_all(caller.account.id, actor=caller.actor, now=now)
    return Single(data=RevokedShareLinks(revoked=revoked))
