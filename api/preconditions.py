"""Preconditions of writes: If-Match, by the strong tag of what is written (RFC 9110, 13.1.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

import msgspec
from fastapi import Depends, Header, Request, Response

from api.errors import ApiError, documented
from api.results.entity_tags import is_match, strong_tag
from api.results.kept_answers import EncodedAnswer
from api.schemas.envelopes import Single
from api.schemas.experiments import ExperimentDetail
from api.schemas.metrics import Metric as MetricAnswer
from api.schemas.projects import Project as ProjectAnswer
from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.experiment import Experiment
from engine.design.metrics.metric import Metric
from engine.design.project import Project
from pipeline.store.catalog.webhooks.webhook_records import Webhook

IF_MATCH: Final = "If-Match"
TAG_HEADER: Final[dict[str, Any]] = {
    "ETag": {
        "description": "Revision of what is answered. Send it as `If-Match` with the next write.",
        "schema": {"type": "string"},
    }
}
_CHANGED: Final = "it has changed since it was read with this ETag; read it again before you write"

ResultT = TypeVar("ResultT")
RecordT = TypeVar("RecordT", Experiment, Project, Metric, Webhook, ExclusionGroup)


def encoded(experiment: Experiment) -> EncodedAnswer:
    """Encode the answer to a read of an experiment, with its tag."""
    content = Single(data=ExperimentDetail.of(experiment)).model_dump_json().encode()
    return EncodedAnswer(content, strong_tag(content))


def tag(record: RecordT, answer: Response) -> RecordT:
    """Tell the revision of a record in the answer's `ETag`."""
    answer.headers["ETag"] = _tag_of(record)
    return record


def _tag_of(record: Experiment | Project | Metric | Webhook | ExclusionGroup) -> str:
    if isinstance(record, Experiment):
        return encoded(record).tag
    # How many experiments of a project run or have slots, and when a message was delivered, is no part of it.
    if isinstance(record, ExclusionGroup):
        return strong_tag(msgspec.json.encode(record))
    if isinstance(record, Webhook):
        # A channel's destination is in its facts only masked, so that another one may look the same.
        destination = b"" if record.kind == "webhook" else record.secret
        return strong_tag(msgspec.json.encode(record.facts()) + destination)
    answer = MetricAnswer.of(record) if isinstance(record, Metric) else ProjectAnswer.of(record, running=0)
    return strong_tag(answer.model_dump_json().encode())


@dataclass(frozen=True, slots=True)
class Precondition:
    """The revision that a write asks for, and the answer that tells the one it has made."""

    if_match: str | None
    answer: Response

    def require(self, record: Experiment | Project | Metric | Webhook | ExclusionGroup) -> None:
        """Require the revision that was asked for, if any; ApiError `precondition_failed`."""
        if self.if_match is not None:
            current = _tag_of(record)
            if not is_match(current, self.if_match):
                raise ApiError("precondition_failed", _CHANGED, headers={"ETag": current})

    def before(self, decide: Callable[[RecordT], ResultT]) -> Callable[[RecordT], ResultT]:
        """Return `decide`, which raises where the record has another revision."""

        def decide_if_met(record: RecordT) -> ResultT:
            self.require(record)
            return decide(record)

        return decide_if_met

    def tag(self, record: RecordT) -> RecordT:
        """Tell the revision of a record in the answer's `ETag`."""
        return tag(record, self.answer)


def documented_write(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Describe the answers of a write with a precondition for OpenAPI, by status."""
    return {200: {"headers": TAG_HEADER}, **documented("precondition_failed", *codes)}


async def _precondition(
    request: Request,
    response: Response,
    if_match: Annotated[
        str | None,
        Header(alias=IF_MATCH, description="`ETag` of the last read; 412 if it has changed since."),
    ] = None,
) -> Precondition:
    # The header may be sent in several lines.
    given = None if if_match is None else ", ".join(request.headers.getlist(IF_MATCH))
    return Precondition(given, response)


PreconditionDep = Annotated[Precondition, Depends(_precondition)]
