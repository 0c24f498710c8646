"""Answers about results: kept while nothing changes, and 304 for what a client has already."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from typing import Any, Final, Self, get_type_hints

from fastapi import Request, Response
from pydantic import TypeAdapter

from api.results.entity_tags import is_none_match, weak_tag
from api.results.kept_answers import EncodedAnswer, KeptAnswers, Question
from api.results.threads import ResultsThreads, with_request
from api.schemas.envelopes import Single
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.results import Results
from pipeline.results.results_version import ResultsVersion

# The client alone may keep an answer, and asks each time whether it still holds.
CACHE_CONTROL: Final = "private, no-cache"
# For the description of an operation.
TAGGED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "headers": {
            "ETag": {
                "description": "Send it as `If-None-Match` with the next read.",
                "schema": {"type": "string"},
            }
        }
    },
    304: {"description": "Nothing has changed since the answer whose `ETag` was sent as `If-None-Match`."},
}
# The time up to which events are counted moves on while nothing else changes.
_AS_OF: Final = "as_of"


@dataclass(frozen=True, slots=True)
class Read:
    """A read of an experiment's results at a time; experiment and project as they are now."""

    question: Question
    experiment: Experiment
    project: Project
    now: datetime

    @classmethod
    def of(cls, view: str, arguments: dict[str, Any]) -> Self:
        """Take the arguments of the endpoint of a view."""
        experiment, query = arguments["experiment"], arguments["query"]
        question = Question(experiment.id, view, query.model_dump_json(exclude_none=True))
        return cls(question, experiment, arguments["project"], arguments["now"])


@dataclass(frozen=True, slots=True)
class _Computing:
    """An answer that is being computed."""

    version: ResultsVersion
    task: asyncio.Task[EncodedAnswer]


class ResultsAnswers:
    """Answers about results: kept ones at once, others from the threads of results.

    Equal questions at the same version are computed once.
    """

    def __init__(self, results: Results, threads: ResultsThreads, kept: KeptAnswers) -> None:
        self._results = results
        self._threads = threads
        self._kept = kept
        self._computing: dict[Question, _Computing] = {}

    async def get(self, read: Read, compute: Callable[[], EncodedAnswer]) -> EncodedAnswer:
        """Return the answer that is kept for this version of the results, or compute it."""
        version = self._results.version(read.experiment, read.project, now=read.now)
        kept = self._kept.find(read.question, version)
        if kept is not None:
            return kept
        computing = self._computing.get(read.question)
        if computing is None or computing.task.done() or computing.version != version:
            work = partial(self._compute_and_keep, read, compute)
            task = asyncio.create_task(self._threads.run(read.project.id, work))
            computing = self._computing[read.question] = _Computing(version, task)
            task.add_done_callback(partial(self._remove, read.question))
        # A client that leaves must not take the answer from the others.
        return await asyncio.shield(computing.task)

    def _compute_and_keep(self, read: Read, compute: Callable[[], EncodedAnswer]) -> EncodedAnswer:
        experiment, project = read.experiment, read.project
        self._results.bring_up_to_date(experiment, project)
        version = self._results.version(experiment, project, now=read.now)
        answer = compute()
        # What was changed or not counted meanwhile may or may not be in the answer.
        is_fresh = self._results.is_fresh(experiment, project)
        if is_fresh and version == self._results.version(experiment, project, now=read.now):
            self._kept.keep(read.question, version, answer)
        return answer

    def _remove(self, question: Question, task: asyncio.Task[EncodedAnswer]) -> None:
        if self._computing[question].task is task:
            del self._computing[question]


def kept_while_unchanged(endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Answer an endpoint about results from what is kept, with an entity tag; 304 where the client has it.

    The endpoint has the parameters `project`, `experiment`, `query` and `now`.
    """
    adapter = TypeAdapter[Any](get_type_hints(endpoint, include_extras=True)["return"])

    @wraps(endpoint)
    async def answer(*, request: Request, **arguments: Any) -> Response:  # noqa: ANN401 - the endpoint's
        answers: ResultsAnswers = request.app.state.services.results_answers
        read = Read.of(endpoint.__name__, arguments)
        found = await answers.get(read, lambda: encode(endpoint(**arguments), adapter))
        return respond(found, request)

    return with_request(endpoint, answer)


def encode(answer: Single[Any], adapter: TypeAdapter[Any]) -> EncodedAnswer:
    """Encode an answer; its tag is that of everything but `as_of`."""
    model = adapter.validate_python(answer, from_attributes=True)
    content = tagged = adapter.dump_json(model, by_alias=True)
    if hasattr(model.data, _AS_OF):
        tagged = adapter.dump_json(model, by_alias=True, exclude={"data": {_AS_OF}})
    return EncodedAnswer(content, weak_tag(tagged))


def respond(answer: EncodedAnswer, request: Request) -> Response:
    """Send an answer with its tag; 304 where the client has it."""
    headers = {"ETag": answer.tag, "Cache-Control": CACHE_CONTROL}
    if_none_match = request.headers.getlist("if-none-match")
    if if_none_match and not is_none_match(answer.tag, ", ".join(if_none_match)):
        return Response(status_code=304, headers=headers)
    return Response(answer.content, headers=headers, media_type="application/json")
