"""Exclusion groups of a project: list, create, get, rename and delete."""

from functools import partial
from typing import Annotated

from fastapi import Path, Response

from api.bodies.json_body import JsonObject
from api.deps import (
    CatalogDep,
    ExperimentsWriter,
    Now,
    ProjectOfReadableExperiments,
    ProjectOfWritableExperiments,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, tag
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.groups import ExclusionGroup
from api.schemas.inputs import GROUP_INPUT
from engine.design.exclusion.exclusion_group import draft_group, rename_group
from pipeline.store.catalog.ids import new_id

router = router_at(
    PREFIX + "/projects/{project_id}/groups",
    tags=["Groups"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
GroupId = Annotated[str, Path(alias="id")]


@router.get("")
def list_groups(project: ProjectOfReadableExperiments, catalog: CatalogDep) -> Single[list[ExclusionGroup]]:
    """List exclusion groups: what is taken, by which experiment, and what is free."""
    return Single(data=[ExclusionGroup.of(use) for use in catalog.exclusion_groups.of_project(project.id)])


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(GROUP_INPUT))
def create_group(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    body: JsonObject,
    catalog: CatalogDep,
    now: Now,
) -> Single[ExclusionGroup]:
    """Create an exclusion group: experiments with it as `group` share no visitor."""
    group = draft_group(body, id=new_id("grp"), project_id=project.id, now=now)
    return Single(data=ExclusionGroup.of(catalog.exclusion_groups.create(group, actor=caller.actor)))


@router.get("/{id}", responses={200: {"headers": TAG_HEADER}})
def get_group(
    project: ProjectOfReadableExperiments, group_id: GroupId, catalog: CatalogDep, response: Response
) -> Single[ExclusionGroup]:
    """Get one exclusion group."""
    use = catalog.exclusion_groups.find(project.id, group_id)
    tag(use.group, response)
    return Single(data=ExclusionGroup.of(use))


@router.patch("/{id}", responses=documented_write(*BODY_CODES), openapi_extra=taking(GROUP_INPUT.as_changes))
def update_group(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    group_id: GroupId,
    body: JsonObject,
    precondition: PreconditionDep,
    catalog: CatalogDep,
    now: Now,
) -> Single[ExclusionGroup]:
    """Rename an exclusion group."""
    rename = precondition.before(partial(rename_group, fields=body, now=now))
    changed = catalog.exclusion_groups.change(project.id, group_id, rename, actor=caller.actor)
    precondition.tag(changed.group)
    return Single(data=ExclusionGroup.of(changed))


@router.delete("/{id}", status_code=204, responses=documented("group_in_use"))
def delete_group(
    caller: ExperimentsWriter, project: ProjectOfWritableExperiments, group_id: GroupId, catalog: CatalogDep
) -> None:
    """Delete an exclusion group that nothing has slots of."""
    catalog.exclusion_groups.delete(project.id, group_id, actor=caller.actor)
