"""Visitors of a project: the erasure of a person."""

from typing import Annotated

from fastapi import Path, Query, Request

from api.deps import ProjectOfWritableRuns, ProjectsWriter, ServicesDep
from api.errors import KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.middleware.encoded_slashes import last_segment
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.projects import Erasure
from pipeline.erasure.person_erasure import IdType, erase

router = router_at(
    PREFIX + "/projects/{project_id}/visitors",
    tags=["Visitors"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)


@router.delete("/{visitor_id}", responses=documented("validation_error", "unavailable"))
def erase_visitor(
    request: Request,
    caller: ProjectsWriter,
    project: ProjectOfWritableRuns,
    # Ids have slashes, too, which are not told from their encoded form in here.
    visitor_id: Annotated[str, Path(description="A visitor id; or a user id, with `id_type`.")],  # noqa: ARG001
    services: ServicesDep,
    id_type: Annotated[IdType, Query(description="Kind of the id.")] = "visitor",
) -> Single[Erasure]:
    """Erase the person with an id, and all other ids of the same person, from everything that is stored."""
    person_id = last_segment(request.scope)
    return Single(data=Erasure.of(erase(services, project, person_id, id_type=id_type, actor=caller.actor)))
