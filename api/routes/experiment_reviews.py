"""Reviews: a member asks, a second one approves, and either may withdraw."""

from functools import partial

from api.bodies.json_body import JsonObject
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import documented_write
from api.routers import PREFIX, router_at
from api.routes.experiments import ExperimentInPath, WritableExperimentInPath
from api.schemas.envelopes import Single
from api.schemas.experiments import ExperimentDetail
from api.schemas.inputs import REVIEW_ANSWER, REVIEW_INPUT
from engine.design.experiment import Experiment
from engine.design.review import ActingMember, ReviewAnswer, ReviewRequest
from engine.design.reviewing import approve, ask_for_review, withdraw
from engine.design.rollout_conflicts import Beside
from engine.validation.input_records import read_record

router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}",
    tags=["Experiments"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)


@router.post(
    "/review",
    responses=documented_write(
        *BODY_CODES, "invalid_transition", "already_decided", "start_requirements_not_met"
    ),
    openapi_extra=taking(REVIEW_INPUT),
)
def request_review(experiment: WritableExperimentInPath, body: JsonObject) -> Single[ExperimentDetail]:
    """Ask for a second member's yes to a start, or to ship a variant."""
    request, by = read_record(body, ReviewRequest, "a review"), _by(experiment)

    def ask(found: Experiment, beside: Beside) -> Experiment:
        return ask_for_review(found, request, beside.review, by=by, now=experiment.now)

    return Single(data=ExperimentDetail.of(experiment.changed_beside(ask)))


@router.post(
    "/approve",
    responses=documented_write(*BODY_CODES, "not_reviewable"),
    openapi_extra=taking(REVIEW_ANSWER),
)
def approve_experiment(experiment: WritableExperimentInPath, body: JsonObject) -> Single[ExperimentDetail]:
    """Say yes to a review that another member asked for; a later change voids it."""
    answer = read_record(body, ReviewAnswer, "an answer")
    return experiment.change(partial(approve, answer=answer, by=_by(experiment)))


@router.post(
    "/review/withdraw",
    responses=documented_write(*BODY_CODES, "invalid_transition", "not_reviewable"),
    openapi_extra=taking(REVIEW_ANSWER),
)
def withdraw_review(experiment: WritableExperimentInPath, body: JsonObject) -> Single[ExperimentDetail]:
    """Take back a review, or the yes to it."""
    answer = read_record(body, ReviewAnswer, "an answer")
    return experiment.change(partial(withdraw, answer=answer, by=_by(experiment)))


def _by(experiment: ExperimentInPath) -> ActingMember:
    member = experiment.member()
    return ActingMember(member.id, member.name)
