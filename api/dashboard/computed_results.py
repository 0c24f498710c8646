"""Results of an experiment for its pages: the records that the API's answers are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any, Final, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.dashboard.filter_form import asked_filters
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from api.deps import experiment_in_path, project_in_path
from api.schemas.segment_filters import ResultsQuery
from api.services import Services
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.results.value_distribution import Distribution

# Parameter of pages: the variant that the others are compared with.
BASELINE: Final = "baseline"
Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedResults:
    """The results that a page asks for: of an experiment, by the filters or the night of its address."""

    services: Services
    project: Project
    experiment: Experiment
    query: ResultsQuery
    # The id of the variant that the others are compared with; None for the control.
    baseline: str | None = None

    def report(self) -> Report:
        """Return the report of the visitors who match the filters, or of the night.

        Against another variant than the control it is exploratory, and its look is not recorded.
        """
        query = self.query
        if self.baseline is not None:
            return self._against(self.baseline)
        return self.services.nights.report(
            self.experiment,
            self.project,
            query.filters,
            night=query.night,
            now=utc_now(),
        )

    def available_segments(self) -> Mapping[str, Any]:
        """List the values to filter by."""
        return self.services.nights.available_segments(
            self.experiment, self.project, night=self.query.night, now=utc_now()
        )

    def distribution(self, goal: Goal) -> Distribution | None:
        """Count values of a goal by variant; None where no values are stored, as of nights and shares."""
        if self.query.night is not None or self.query.reached:
            return None
        asked = self.experiment, self.project, self.query.filters
        if not goal.measure.is_quantile:
            return self.services.results.distribution(*asked, goal, now=utc_now())
        evidence = self.services.results.evidence(*asked, now=utc_now())
        found = evidence.quantiles.get([one.id for one in self.experiment.goals].index(goal.id))
        ids = [one.id for one in self.experiment.variants]
        return None if found is None else dict(zip(ids, found.arms, strict=True))

    def nights(self) -> list[date]:
        """List the past nights that are kept, the newest first."""
        return self.services.nights.kept_of(self.experiment)

    def _against(self, variant_id: str) -> Report:
        from engine.analysis.analyze import analyze  # noqa: PLC0415 - slow, and not needed at a start

        now, results = utc_now(), self.services.results
        evidence = results.evidence(self.experiment, self.project, self.query.filters, now=now)
        currency, compared = self.project.revenue_currency, with_control(self.experiment, variant_id)
        return analyze(compared, evidence, now=now, currency=currency, is_segment=True)

    def segments(self, goal: Goal) -> SegmentReport:
        """Report every segment of all visitors on a goal."""
        return self.services.results.segments(self.experiment, self.project, now=utc_now(), goal_id=goal.id)


def with_control(experiment: Experiment, variant_id: str) -> Experiment:
    """Return an experiment as if one of its variants were the control."""
    variants = (replace(one, is_control=one.id == variant_id) for one in experiment.variants)
    return replace(experiment, variants=tuple(variants))


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
    baseline = _baseline(request, experiment)
    if baseline is not None and (query.night is not None or query.reached):
        message = "A past night, as a second look, is kept against the control alone; leave out baseline."
        raise PageError(422, message)
    return AskedResults(
        services=services, project=project, experiment=experiment, query=query, baseline=baseline
    )


def _baseline(request: Request, experiment: Experiment) -> str | None:
    """Return the variant that is asked for as the baseline; None for the control."""
    asked = request.query_params.get(BASELINE)
    found = next((one for one in experiment.variants if one.id == asked), None)
    if asked and found is None:
        raise PageError(422, f"baseline: {experiment.name!r} has no variant {asked!r}.")
    return None if found is None or found.is_control else found.id
