"""Experiments: create, copy, list, get, update and delete; the transitions of their lifecycle."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Path, Query, Request, Response, Security

from api.auth import require_scope
from api.bodies.json_body import JsonObject, OptionalJsonObject
from api.deps import (
    CatalogDep,
    ExperimentsReader,
    ExperimentsWriter,
    Now,
    PerPage,
    ProjectOfReadableExperiments,
    ProjectOfWritableExperiments,
    ReadableExperiment,
    ResultsDep,
    WritableExperiment,
    require_once,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, encoded, tag
from api.results.answers import TAGGED, respond
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.experiments import CompletedExperiment, Experiment, ExperimentDetail, described
from api.schemas.inputs import COPY_INPUT, EXPERIMENT_INPUT
from api.schemas.list_queries import ListQuery
from engine.design import lifecycle
from engine.design.experiment import Experiment as ExperimentValue
from engine.design.reviewing import reviewed
from engine.design.rollout_conflicts import Beside, started_beside
from pipeline.requests.experiments import copy_as_draft, create_draft, revise_draft
from pipeline.store.catalog.experiments import DecideBeside
from pipeline.store.catalog.members import Member

router = router_at(
    PREFIX + "/projects/{project_id}/experiments",
    tags=["Experiments"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
UPDATE_CODES = ("experiment_running", "experiment_locked", "field_locked")


@router.get("", responses=documented("validation_error"))
def list_experiments(
    request: Request,
    caller: ExperimentsReader,
    project: ProjectOfReadableExperiments,
    catalog: CatalogDep,
    query: Annotated[ListQuery, Query()],
    per_page: PerPage = 25,
) -> Listing[Experiment]:
    """List the experiments of a project, most recently updated first."""
    require_once(request, ListQuery.model_fields)
    if query.asks_for_results:
        require_scope(caller, "results:read")
    wanted = query.wanted(project.id)
    found = catalog.experiment_listings.experiments(wanted, page=query.page, per_page=per_page)
    return Listing(
        data=[Experiment.of(experiment) for experiment in found.items],
        meta=Meta(page=found.page, per_page=per_page, total=found.total),
    )


@router.post(
    "",
    status_code=201,
    responses={201: {"headers": TAG_HEADER}, **documented(*BODY_CODES)},
    openapi_extra=taking(EXPERIMENT_INPUT),
)
def create_experiment(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    body: JsonObject,
    catalog: CatalogDep,
    now: Now,
    response: Response,
) -> Single[ExperimentDetail]:
    """Create a draft with its variants, goals and targeting; it receives no traffic."""
    return _detail(tag(create_draft(catalog, project, body, now=now, actor=caller.actor), response))


@router.post(
    "/{id}/copy",
    status_code=201,
    responses={201: {"headers": TAG_HEADER}, **documented(*BODY_CODES)},
    openapi_extra=taking(COPY_INPUT, is_required=False),
)
def copy_experiment(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    experiment_id: Annotated[str, Path(alias="id")],
    body: OptionalJsonObject,
    catalog: CatalogDep,
    now: Now,
    response: Response,
) -> Single[ExperimentDetail]:
    """Copy an experiment of any status as a draft, with a test key and an assignment of its own."""
    copied = copy_as_draft(catalog, project, experiment_id, body, now=now, actor=caller.actor)
    return _detail(tag(copied, response))


@router.get("/{id}", response_model=Single[ExperimentDetail], responses=TAGGED)
def get_experiment(experiment: ReadableExperiment, request: Request) -> Response:
    """Get one experiment with its variants, goals and targeting."""
    return respond(encoded(experiment), request)


@router.patch(
    "/{id}",
    responses=documented_write(*BODY_CODES, *UPDATE_CODES),
    openapi_extra=taking(EXPERIMENT_INPUT.as_changes),
)
def update_experiment(
    caller: ExperimentsWriter,
    project: ProjectOfWritableExperiments,
    experiment: WritableExperiment,
    body: JsonObject,
    catalog: CatalogDep,
    results: ResultsDep,
    now: Now,
    precondition: PreconditionDep,
) -> Single[ExperimentDetail]:
    """Change the fields that are sent; a paused experiment accepts only changes that preserve its history."""
    is_free = experiment.status == "paused" and not results.may_have_counted(experiment, project)
    revised = revise_draft(
        catalog,
        project,
        experiment.id,
        body,
        now=now,
        actor=caller.actor,
        require=precondition.require,
        uncounted=experiment if is_free else None,
    )
    return _detail(precondition.tag(revised))


@dataclass(frozen=True, slots=True)
class ExperimentInPath:
    """The experiment that the path names: not loaded, as changing and deleting it load it themselves."""

    experiment_id: Annotated[str, Path(alias="id")]
    caller: ExperimentsWriter
    project: ProjectOfWritableExperiments
    catalog: CatalogDep
    now: Now
    precondition: PreconditionDep

    def change(self, transition: Callable[..., ExperimentValue]) -> Single[ExperimentDetail]:
        """Apply a transition of `lifecycle` in one transaction; TransitionError, NotFoundError."""
        return _detail(self.changed(transition))

    def changed(self, transition: Callable[..., ExperimentValue]) -> ExperimentValue:
        """Apply a transition in the same way, and return the experiment."""
        change = self.precondition.before(partial(transition, now=self.now))
        return self.precondition.tag(
            self.catalog.experiments.change(
                self.project.id, self.experiment_id, change, actor=self.caller.actor
            )
        )

    def changed_beside(self, decide: DecideBeside) -> ExperimentValue:
        """Apply a function of the experiment and of what is beside it, in the same way."""

        def decide_if_met(experiment: ExperimentValue, beside: Beside) -> ExperimentValue:
            self.precondition.require(experiment)
            return decide(experiment, beside)

        return self.precondition.tag(
            self.catalog.experiments.change_beside(
                self.project.id, self.experiment_id, decide_if_met, actor=self.caller.actor
            )
        )

    def member(self) -> Member:
        """Return the member behind the key."""
        return self.catalog.members.get(self.caller.account.id, self.caller.key.member_id)

    def delete(self) -> None:
        """Delete the experiment; TransitionError `not_draft`, NotFoundError."""
        decide = self.precondition.before(lifecycle.deletable)
        self.catalog.experiments.delete(self.project.id, self.experiment_id, decide, actor=self.caller.actor)


WritableExperimentInPath = Annotated[
    ExperimentInPath, Security(ExperimentInPath, scopes=["experiments:write"])
]


@router.delete("/{id}", status_code=204, responses=documented("precondition_failed", "not_draft"))
def delete_experiment(experiment: WritableExperimentInPath) -> None:
    """Delete a draft permanently; complete and archive an experiment that has started."""
    experiment.delete()


@router.post(
    "/{id}/start",
    responses=documented_write("invalid_transition", "start_requirements_not_met", "rollout_conflict"),
)
def start_experiment(experiment: WritableExperimentInPath) -> Single[ExperimentDetail]:
    """Start a draft: visitors are assigned at once, or from `scheduled_start_at` if that is in the future."""
    started = partial(started_beside, transition=lifecycle.start, now=experiment.now)
    return _detail(experiment.changed_beside(reviewed(started, "start")))


@router.post("/{id}/pause", responses=documented_write("invalid_transition"))
def pause_experiment(experiment: WritableExperimentInPath) -> Single[ExperimentDetail]:
    """Stop assigning new visitors; the others keep their variant, and the configuration can be edited."""
    return experiment.change(lifecycle.pause)


@router.post(
    "/{id}/resume",
    responses=documented_write("invalid_transition", "start_requirements_not_met", "rollout_conflict"),
)
def resume_experiment(experiment: WritableExperimentInPath) -> Single[ExperimentDetail]:
    """Assign new visitors again after a pause; collected data is kept."""
    resumed = partial(started_beside, transition=lifecycle.resume, now=experiment.now)
    return _detail(experiment.changed_beside(reviewed(resumed, "start")))


@router.post("/{id}/complete", responses=documented_write("invalid_transition"))
def complete_experiment(
    experiment: WritableExperimentInPath, results: ResultsDep
) -> Single[CompletedExperiment]:
    """End the experiment: no more visitors are assigned, and results are frozen."""
    return completed(experiment, experiment.changed(lifecycle.complete), results)


@router.post("/{id}/archive", responses=documented_write("invalid_transition"))
def archive_experiment(experiment: WritableExperimentInPath) -> Single[ExperimentDetail]:
    """Hide a completed experiment from the default listing; its results are kept."""
    return experiment.change(lifecycle.archive)


def completed(
    experiment: ExperimentInPath, ended: ExperimentValue, results: ResultsDep
) -> Single[CompletedExperiment]:
    """Answer with an experiment that has just ended, and with what its end has lost."""
    lost = results.open_visitors(ended, experiment.project, now=experiment.now)
    return Single(data=CompletedExperiment(**described(ended), open_visitors=lost))


def _detail(experiment: ExperimentValue) -> Single[ExperimentDetail]:
    return Single(data=ExperimentDetail.of(experiment))
