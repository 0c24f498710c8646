"""Holdouts of a project: create, list, get, end and delete, and their results."""

from functools import partial
from typing import Annotated

from fastapi import Path, Query

from api.bodies.json_body import JsonObject
from api.deps import (
    CatalogDep,
    ExperimentsWriter,
    HoldoutOfReadableResults,
    NightsDep,
    Now,
    PageNumber,
    PerPage,
    ProjectOfReadableExperiments,
    ProjectOfReadableResults,
    ProjectOfWritableExperiments,
)
from api.errors import BODY_CODES, KEY_CODES, documented, merged
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.results.answers import TAGGED, kept_while_unchanged
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.holdouts import Holdout
from api.schemas.inputs import HOLDOUT_CHANGES, HOLDOUT_INPUT
from api.schemas.results import Results
from api.schemas.segment_filters import ResultsQuery
from engine.design.holdout import deletable_holdout, draft_holdout, revise_holdout
from pipeline.store.catalog.ids import new_id

router = router_at(
    PREFIX + "/projects/{project_id}/holdouts",
    tags=["Holdouts"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
# Beside the others, since answers about results are kept and tagged by a wrapper of their own.
results_router = router_at(
    PREFIX + "/projects/{project_id}/holdouts/{id}/results",
    tags=["Holdouts"],
    responses=merged(
        TAGGED, documented(*KEY_CODES, "not_found", "validation_error", "needs_visitors", "unavailable")
    ),
)
HoldoutId = Annotated[str, Path(alias="id")]


@router.get("", responses=documented("validation_error"))
def list_holdouts(
    project: ProjectOfReadableExperiments, catalog: CatalogDep, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[Holdout]:
    """List the holdouts of a project, newest first."""
    found = catalog.holdouts.page(project.id, page=page, per_page=per_page)
    return Listing(
        data=[Holdout.of(one) for one in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post(
    "",
    status_code=201,
    responses=documented(*BODY_CODES, "holdout_active"),
    openapi_extra=taking(HOLDOUT_INPUT),
)
def create_holdout(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    body: JsonObject,
    catalog: CatalogDep,
    now: Now,
) -> Single[Holdout]:
    """Hold a percent of new visitors out of all tests and rollouts, or out of those of an exclusion group."""
    holdout_id = new_id("hld")
    made = catalog.holdouts.create(
        project.id,
        lambda metrics: draft_holdout(
            body, id=holdout_id, project=project, now=now, new_id=new_id, metrics=metrics
        ),
        actor=caller.actor,
    )
    return Single(data=Holdout.of(made))


@router.get("/{id}")
def get_holdout(
    project: ProjectOfReadableExperiments, holdout_id: HoldoutId, catalog: CatalogDep
) -> Single[Holdout]:
    """Get one holdout."""
    return Single(data=Holdout.of(catalog.holdouts.get(project.id, holdout_id)))


@router.patch(
    "/{id}",
    responses=documented(*BODY_CODES, "invalid_transition"),
    openapi_extra=taking(HOLDOUT_CHANGES),
)
def update_holdout(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    holdout_id: HoldoutId,
    body: JsonObject,
    catalog: CatalogDep,
    now: Now,
) -> Single[Holdout]:
    """Rename a holdout, or move its end; a `to` that has passed ends it at once."""
    revise = partial(revise_holdout, fields=body, now=now)
    return Single(
        data=Holdout.of(catalog.holdouts.change(project.id, holdout_id, revise, actor=caller.actor))
    )


@router.delete("/{id}", status_code=204, responses=documented("invalid_transition"))
def delete_holdout(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    holdout_id: HoldoutId,
    catalog: CatalogDep,
) -> None:
    """Delete a holdout that is not in force, with its results."""
    catalog.holdouts.delete(project.id, holdout_id, deletable_holdout, actor=caller.actor)


@results_router.get("")
@kept_while_unchanged
def get_holdout_results(
    project: ProjectOfReadableResults,
    experiment: HoldoutOfReadableResults,
    query: Annotated[ResultsQuery, Query()],
    nights: NightsDep,
    now: Now,
) -> Single[Results]:
    """Get what all tests and rollouts together were worth: all others, compared with the held out."""
    filters = query.filters
    found = nights.read(experiment, project, filters, night=query.night, now=now)
    return Single(data=Results.of(found.report, found.available_segments, filters, run_id=found.run_id))
