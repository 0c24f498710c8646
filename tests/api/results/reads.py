"""Reads of results at simulated times: by what is kept, and computed anew."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from api.results.answers import Read, ResultsAnswers, encode
from api.results.kept_answers import EncodedAnswer, KeptAnswers
from api.results.threads import ResultsThreads
from api.routes import results as routes
from api.schemas.envelopes import Single
from api.schemas.results import Day, Results, Summary
from api.schemas.segment_filters import ResultsQuery, SegmentsQuery, TimeseriesQuery
from api.schemas.segment_results import Segments
from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_working_store

# Each view with the queries to ask it.
VIEWS: dict[str, tuple[Any, ...]] = {
    "get_results": (ResultsQuery(), ResultsQuery(country="DE")),
    "get_results_summary": (ResultsQuery(),),
    "get_results_timeseries": (TimeseriesQuery(), TimeseriesQuery(goal_id="spent")),
    "get_results_segments": (SegmentsQuery(), SegmentsQuery(dimension="country")),
}


@dataclass
class Reader:
    """A reader of one experiment in a store whose clock stands where a test sets it."""

    folder: Path
    now: datetime = STARTED
    computed: int = 0
    store: WorkingStore = field(init=False)
    project: Project = field(init=False)
    experiment: Experiment = field(init=False)
    answers: ResultsAnswers = field(init=False)
    kept: KeptAnswers = field(init=False)

    @contextmanager
    def opened(self, **settings: Any) -> Iterator[None]:
        """Open the store, with nothing kept yet."""
        with a_working_store(self.folder, clock=lambda: self.now, **settings) as self.store:
            threads = ResultsThreads(self.store.settings)
            self.kept = KeptAnswers(self.store.settings.kept_results_bytes)
            self.store.rollup.publications.listen(self.kept.forget)
            self.answers = ResultsAnswers(self.store.results, threads, self.kept)
            yield
            threads.close()

    def add(self, **fields: Any) -> None:
        """Add a project, and a running experiment in it."""
        self.project = self.store.add_project()
        self.experiment = self.store.add_experiment(self.project, **fields)

    def arguments(self, query: Any, now: datetime) -> dict[str, Any]:
        """Load what the catalog has now, as the dependencies of a route do."""
        catalog = self.store.catalog
        return {
            "project": catalog.projects.get(self.project.account_id, self.project.id),
            "experiment": catalog.experiments.get(self.project.id, self.experiment.id),
            "query": query,
            "now": now,
        }

    def read(self, view: str = "get_results", query: Any = None) -> EncodedAnswer:
        """Read as a client does: an answer that is kept, or else a new one."""
        arguments = self.arguments(query or VIEWS[view][0], self.now)
        return asyncio.run(
            self.answers.get(Read.of(view, arguments), partial(self._compute, view, arguments))
        )

    def compute(self, view: str = "get_results", query: Any = None, *, at: datetime) -> EncodedAnswer:
        """Compute an answer anew, as of a time."""
        return self._compute(view, self.arguments(query or VIEWS[view][0], at))

    def go_on(self, **duration: float) -> None:
        """Let time pass."""
        self.now += timedelta(**duration)

    def _compute(self, view: str, arguments: dict[str, Any]) -> EncodedAnswer:
        self.computed += 1
        endpoint = getattr(routes, view).__wrapped__
        services = {
            "results": self.store.results,
            "nights": self.store.nights,
        }
        wanted = {name: services[name] for name in services.keys() & signature(endpoint).parameters.keys()}
        return encode(endpoint(**arguments, **wanted), ADAPTERS[view])


ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "get_results": TypeAdapter(Single[Results]),
    "get_results_summary": TypeAdapter(Single[Summary]),
    "get_results_timeseries": TypeAdapter(Single[list[Day]]),
    "get_results_segments": TypeAdapter(Single[Segments]),
}


def data_of(answer: EncodedAnswer) -> Any:
    """Decode an answer."""
    return json.loads(answer.content)["data"]
