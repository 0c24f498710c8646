"""Shipping: the decision about an experiment, and the end of its rollout."""

from collections.abc import Sequence

from api.bodies.json_body import JsonObject
from api.deps import ResultsDep
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import documented_write
from api.routers import PREFIX, router_at
from api.routes.experiments import ExperimentInPath, WritableExperimentInPath, completed
from api.schemas.envelopes import Single
from api.schemas.experiments import CompletedExperiment, ExperimentDetail
from api.schemas.inputs import SHIP_INPUT
from engine.analysis.results.open_risks import open_risks
from engine.design.conclusion import OpenRisk, ShipRequest
from engine.design.experiment import Experiment
from engine.design.reviewing import reviewed
from engine.design.rollout_conflicts import Beside, shipped_beside
from engine.design.shipping import DECIDABLE, Decider, end_rollout, ship
from engine.validation.input_records import read_record
from pipeline.results.results import Results
from pipeline.store.catalog.ids import new_id

router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}",
    tags=["Experiments"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
SHIP_CODES = ("invalid_transition", "already_decided", "open_risks", "rollout_conflict", "review_required")


@router.post(
    "/ship",
    responses=documented_write(*BODY_CODES, *SHIP_CODES),
    openapi_extra=taking(SHIP_INPUT),
)
def ship_experiment(
    experiment: WritableExperimentInPath, body: JsonObject, results: ResultsDep
) -> Single[CompletedExperiment]:
    """Decide for good: ship a variant, keep the control, or neither; an open experiment is completed."""
    request = read_record(body, ShipRequest, "a decision")
    risks, by = _risks(experiment, request, results), _by(experiment)

    def decide(found: Experiment, beside: Beside) -> Experiment:
        return shipped_beside(ship(found, request, risks, by=by, now=experiment.now), beside)

    # The other decisions show nothing new.
    step = reviewed(decide, "ship", request) if request.decision == "ship" else decide
    return completed(experiment, experiment.changed_beside(step), results)


@router.post("/rollout/end", responses=documented_write("no_rollout"))
def end_experiment_rollout(experiment: WritableExperimentInPath) -> Single[ExperimentDetail]:
    """End the rollout: everybody sees what your own code shows."""
    return experiment.change(end_rollout)


def _risks(experiment: ExperimentInPath, request: ShipRequest, results: Results) -> Sequence[OpenRisk]:
    """List the open risks of what is to be shipped; none of what cannot be. NotFoundError."""
    project = experiment.project
    found = experiment.catalog.experiments.get(project.id, experiment.experiment_id)
    if request.variant_id is None or found.status not in DECIDABLE or found.conclusion is not None:
        return ()
    return open_risks(results.shared_report(found, project, now=experiment.now), request.variant_id)


def _by(experiment: ExperimentInPath) -> Decider:
    member = experiment.member()
    return Decider(member.id, member.name, new_id("rol"))
