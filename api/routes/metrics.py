"""Metrics of a project: create, list, get, update and delete."""

from functools import partial
from typing import Annotated

from fastapi import Path, Response

from api.bodies.json_body import JsonObject
from api.deps import (
    CatalogDep,
    ExperimentsWriter,
    Now,
    PageNumber,
    PerPage,
    ProjectOfReadableExperiments,
    ProjectOfWritableExperiments,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, tag
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import METRIC_INPUT
from api.schemas.metrics import Metric
from engine.design.metrics.metric import draft_metric, revise_metric
from pipeline.store.catalog.ids import new_id

router = router_at(
    PREFIX + "/projects/{project_id}/metrics",
    tags=["Metrics"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
MetricId = Annotated[str, Path(alias="id")]


@router.get("", responses=documented("validation_error"))
def list_metrics(
    project: ProjectOfReadableExperiments, catalog: CatalogDep, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[Metric]:
    """List the metrics of a project, most recently updated first."""
    found = catalog.metrics.page(project.id, page=page, per_page=per_page)
    return Listing(
        data=[Metric.of(metric) for metric in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(METRIC_INPUT))
def create_metric(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    body: JsonObject,
    catalog: CatalogDep,
    now: Now,
) -> Single[Metric]:
    """Create a metric, for goals of any experiment of the project to name as their `metric_id`."""
    metric = draft_metric(body, id=new_id("met"), project_id=project.id, now=now)
    return Single(data=Metric.of(catalog.metrics.create(metric, actor=caller.actor)))


@router.get("/{id}", responses={200: {"headers": TAG_HEADER}})
def get_metric(
    project: ProjectOfReadableExperiments, metric_id: MetricId, catalog: CatalogDep, response: Response
) -> Single[Metric]:
    """Get one metric, in its newest version."""
    return Single(data=Metric.of(tag(catalog.metrics.get(project.id, metric_id), response)))


@router.patch("/{id}", responses=documented_write(*BODY_CODES), openapi_extra=taking(METRIC_INPUT.as_changes))
def update_metric(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    metric_id: MetricId,
    body: JsonObject,
    precondition: PreconditionDep,
    catalog: CatalogDep,
    now: Now,
) -> Single[Metric]:
    """Change the fields that are sent; experiments that have not started follow, and all others stay."""
    revise = precondition.before(partial(revise_metric, fields=body, now=now))
    changed = catalog.metrics.change(project.id, metric_id, revise, now=now, actor=caller.actor)
    return Single(data=Metric.of(precondition.tag(changed)))


@router.delete("/{id}", status_code=204, responses=documented("metric_in_use"))
def delete_metric(
    caller: ExperimentsWriter, project: ProjectOfWritableExperiments, metric_id: MetricId, catalog: CatalogDep
) -> None:
    """Delete a metric that no draft uses; experiments that have started keep what they measure."""
    catalog.metrics.delete(project.id, metric_id, actor=caller.actor)
