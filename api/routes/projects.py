"""Projects: create, list, get, update and delete; statistics and installation."""

from functools import partial

from fastapi import BackgroundTasks, Response

from api.bodies.json_body import JsonObject
from api.deps import (
    CatalogDep,
    Now,
    PageNumber,
    PerPage,
    ProjectsCreator,
    ProjectsReader,
    ProjectsWriter,
    ReadableProject,
    ResultsDep,
    ServicesDep,
    WritableProject,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.installation import describe_installation
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, tag
from api.results.threads import on_results_threads
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import PROJECT_INPUT
from api.schemas.projects import NewProject, Project, ProjectInstallation, ProjectStats
from engine.design.lifecycle import STARTED
from engine.design.project import Project as ProjectValue
from engine.design.project import draft_project, revise_project
from pipeline.jobs.jobs import REMOVE_DELETED
from pipeline.results.project_totals import ProjectExperiments
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import RoleTooLowError
from pipeline.store.catalog.ids import new_id, new_sdk_key

router = router_at(
    PREFIX + "/projects", tags=["Projects"], route_class=IdempotentRoute, responses=documented(*KEY_CODES)
)


@router.get("", responses=documented("validation_error"))
def list_projects(
    caller: ProjectsReader, catalog: CatalogDep, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[Project]:
    """List the projects that the key reaches, most recently updated first."""
    found = catalog.projects.page(
        caller.account.id, only=caller.key.project_ids, page=page, per_page=per_page
    )
    running = catalog.experiments.running_counts([project.id for project in found.items])
    return Listing(
        data=[Project.of(project, running[project.id]) for project in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post(
    "",
    status_code=201,
    responses=documented(*BODY_CODES, "plan_limit_reached"),
    openapi_extra=taking(PROJECT_INPUT),
)
def create_project(
    caller: ProjectsCreator, body: JsonObject, catalog: CatalogDep, now: Now
) -> Single[NewProject]:
    """Create a project, within the plan's allowance. Needs an account-wide key."""
    drafted = draft_project(
        body, id=new_id("prj"), account_id=caller.account.id, sdk_key=new_sdk_key(), now=now
    )
    return Single(data=NewProject.of_new(catalog.projects.create(drafted, actor=caller.actor)))


@router.get("/{id}", responses={200: {"headers": TAG_HEADER}, **documented("not_found")})
def get_project(project: ReadableProject, catalog: CatalogDep, response: Response) -> Single[Project]:
    """Get one project."""
    return _described(tag(project, response), catalog)


@router.patch(
    "/{id}",
    responses=documented_write("not_found", *BODY_CODES),
    openapi_extra=taking(PROJECT_INPUT.as_changes),
)
def update_project(
    caller: ProjectsWriter,
    project: WritableProject,
    body: JsonObject,
    precondition: PreconditionDep,
    catalog: CatalogDep,
    now: Now,
) -> Single[Project]:
    """Change the fields that are sent, and only those; `review` is for owners and admins."""
    may_manage = catalog.members.get(caller.account.id, caller.key.member_id).manages_keys

    def revise(before: ProjectValue) -> ProjectValue:
        after = revise_project(before, fields=body, now=now)
        if after.requires_review != before.requires_review and not may_manage:
            raise RoleTooLowError("owners and admins decide whether a project requires reviews")
        return after

    change = precondition.before(revise)
    revised = catalog.projects.change(caller.account.id, project.id, change, actor=caller.actor)
    return _described(precondition.tag(revised), catalog)


@router.delete("/{id}", status_code=204, responses=documented("not_found"))
def delete_project(
    caller: ProjectsWriter, project: WritableProject, services: ServicesDep, afterwards: BackgroundTasks
) -> None:
    """Delete a project permanently, with its experiments and all collected data."""
    services.catalog.projects.delete(caller.account.id, project.id, actor=caller.actor)
    # The data is removed after the deletion is committed, and a running rollup has to end first.
    afterwards.add_task(services.scheduler.run_now, REMOVE_DELETED)


@router.get("/{id}/stats", responses=documented("not_found", "unavailable"))
@on_results_threads
def get_project_stats(
    project: ReadableProject, catalog: CatalogDep, results: ResultsDep, now: Now
) -> Single[ProjectStats]:
    """Count the project's experiments, and the visitors and conversions of all of them together."""
    numbers = catalog.experiments.numbers(project.id)
    experiments = ProjectExperiments(
        numbers.version, partial(catalog.experiments.of_project, project.id, STARTED)
    )
    totals = results.project_totals.of(project, experiments, now=now)
    outside = results.count_outside(catalog.experiments.started_ids(project.id))
    return Single(data=ProjectStats.of(numbers, totals, outside))


@router.get("/{id}/installation", responses=documented("not_found"))
def get_project_installation(project: ReadableProject, services: ServicesDep) -> Single[ProjectInstallation]:
    """Get the code that connects the site, and the project's public key."""
    return Single(data=describe_installation(project, services.settings.base_url))


def _described(found: ProjectValue, catalog: Catalog) -> Single[Project]:
    running = catalog.experiments.running_counts([found.id])
    return Single(data=Project.of(found, running[found.id]))
