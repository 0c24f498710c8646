"""Results of an experiment for its pages: the records that the API's answers are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.dashboard.filter_form import asked_filters
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.sessions import SignedIn
from api.deps import experiment_in_path, project_in_path
from api.schemas.segment_filters import ResultsQuery
from api.services import Services
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now

Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedResults:
    """The results that a page asks for: of an experiment, by the filters or the night of its address."""

    services: Services
    project: Project
    experiment: Experiment
    query: ResultsQuery

    def report(self) -> Report:
        """Return the report of the visitors who match the filters, or of the night."""
        query = self.query
        return self.services.nights.report(
            self.experiment, self.project, query.filters, night=query.night, now=utc_now()
        )

    def available_segments(self) -> Mapping[str, Any]:
        """List the values to filter by."""
        return self.services.nights.available_segments(
            self.experiment, self.project, night=self.query.night, now=utc_now()
        )

    def segments(self) -> SegmentReport:
        """Analyze every segment of all visitors."""
        return self.services.results.segments(self.experiment, self.project, now=utc_now())


async def compute_results(
    request: Request, session: SignedIn, compute: Callable[[AskedResults], Computed]
) -> Computed:
    """Compute on the threads of results, with the permissions and limits of the session's key.

    NotSignedInError, and PageError with the status and the words of the API.
    """
    services: Services = request.app.state.services
    with refusals_as_pages(request):
        asked = await run_in_threadpool(_asked, request, session, services)
        return await services.results_threads.run(asked.project.id, partial(compute, asked))


def _asked(request: Request, session: SignedIn, services: Services) -> AskedResults:
    caller = caller_of(request, session, "results:read")
    ids = request.path_params
    project = project_in_path(ids["project_id"], caller, services.catalog)
    experiment = experiment_in_path(ids["experiment_id"], project, services.catalog)
    try:
        query = ResultsQuery.model_validate(asked_filters(request))
    except ValidationError as error:
        raise RequestValidationError(
            [{**one, "loc": ("query", *one["loc"])} for one in error.errors()]
        ) from error
    return AskedResults(services=services, project=project, experiment=experiment, query=query)
