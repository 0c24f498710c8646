"""Wide experiments: many goals, variants, segment values and days, and views of their results."""

import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fastapi.testclient import TestClient

from api.app import create_app
from api.results.threads import ResultsThreads
from api.services import Services
from benchmarks.warehouse.many_events import EXPERIMENTS, PROJECT
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.variants import Variant
from pipeline.clock import utc_now
from pipeline.jobs.scheduler import Scheduler
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor
from tests.api.customers import a_browser

# Of each visitor: an exposure, and events of goals.
_EACH: Final = 8
_FILL: Final = """
INSERT INTO "events_{project}" BY NAME
WITH drawn AS (
  SELECT i, i // {each} AS v, i % {each} AS k, hash(i // {each}, 2) AS hv, hash(i, 3) AS hi
  FROM range({events}) t(i)
)
SELECT {first} + i AS seq, {start} + v * {span} // {visitors} + k * 60000000 AS occurred_at,
  occurred_at AS received_at, '{id} ' || i AS event_id, hash(event_id) AS event_key,
  if(k = 0, 'exposure', 'custom_event') AS type, '{id} ' || v AS visitor_id, hash(visitor_id) AS visitor_key,
  CASE WHEN k = 0 THEN '{id}' END AS experiment_id,
  CASE WHEN k = 0 THEN 'var_' || hv % {variants} END AS variant_id,
  CASE WHEN k > 0 THEN 'done ' || hi % {goals} END AS event_name,
  'R' || hv // 100 % {values} AS region, false AS is_refund, false AS is_bot
FROM drawn
"""
PAGE: Final = "page"
# The most segments that are judged at once.
_SEGMENTS: Final = 31


@dataclass(frozen=True, slots=True)
class Width:
    """Numbers of what an experiment has; half of the goals count events."""

    goals: int
    variants: int
    values: int
    days: int
    visitors: int

    @property
    def events(self) -> int:
        """Number of events of the visitors."""
        return _EACH * self.visitors

    def experiment(self, name: str, now: datetime) -> Experiment:
        """Build the experiment, which runs until now."""
        started = now - timedelta(days=self.days)
        return replace(
            EXPERIMENTS[0],
            id=name,
            test_key=name,
            created_at=started,
            updated_at=started,
            started_at=started,
            variants=tuple(
                Variant(id=f"var_{place}", name=f"Variant {place}", is_control=place == 0)
                for place in range(self.variants)
            ),
            goals=tuple(_goal(place) for place in range(self.goals)),
        )

    def add_events(self, cursor: Cursor, experiment: Experiment, first: int) -> int:
        """Store the events, numbered from `first` on; return the number after them."""
        assert experiment.started_at
        cursor.execute(
            _FILL.format(
                project=PROJECT.id,
                id=experiment.id,
                first=first,
                each=_EACH,
                events=self.events,
                start=int(experiment.started_at.timestamp()) * 1_000_000,
                # None is later than now.
                span=self.days * 86_400_000_000 - 3_600_000_000,
                visitors=self.visitors,
                variants=self.variants,
                goals=self.goals,
                values=self.values,
            )
        )
        return first + self.events


def _goal(place: int) -> Goal:
    config = {"event_name": f"done {place}", "measure": "count" if place % 2 else "converted"}
    return Goal(
        id=f"goal_{place}",
        name=f"Goal {place}",
        goal_type="custom_event",
        is_primary=place == 0,
        config=config,
    )


@dataclass(frozen=True, slots=True)
class Site:
    """A service with wide experiments, whose events are not counted yet, a key and a browser."""

    client: TestClient
    services: Services
    token: str
    browser: TestClient

    def count(self) -> None:
        self.services.rollup.refresh(PROJECT.id)

    def read(self, experiment: str, view: str) -> bytes:
        """Read a view of an experiment's results, with nothing kept."""
        with self.services.rollup.publications.replacing([experiment]):
            pass
        path = f"/projects/{PROJECT.id}/experiments/{experiment}"
        if view == PAGE:
            answer = self.browser.get(path)
        else:
            headers = {"Authorization": f"Bearer {self.token}"}
            answer = self.client.get(f"/api/v1{path}/results{view}", headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.content

    def sums(self, experiment: str) -> int:
        """Count the rows of an experiment's sums."""
        with self.services.warehouse.cursor() as cursor:
            query = f'SELECT count(*) FROM "aggregates_{experiment}"'  # noqa: S608 - a name of the test's own
            (found,) = cursor.execute(query).fetchall()
        return int(found[0])


@dataclass(frozen=True, slots=True)
class MostBytes:
    """The most bytes of a view: of its head, and for each of what its answer has."""

    head: int
    variant: int = 0
    # A variant of a goal, of a day of one goal, and of a goal in a segment.
    arm: int = 0
    day: int = 0
    segment: int = 0
    # A value to filter by.
    choice: int = 0

    def of(self, width: Width) -> int:
        """Add up what an experiment has."""
        arms, segments = width.goals * width.variants, min(width.values + 2, _SEGMENTS)
        return (
            self.head
            + self.variant * width.variants
            + self.arm * arms
            + self.day * width.days * width.variants
            + self.segment * arms * segments
            + self.choice * width.values
        )


VIEWS: Final = {
    "": MostBytes(head=8_000, arm=1_900, day=170, choice=40),
    "/timeseries": MostBytes(head=1_000, day=170),
    "/summary": MostBytes(head=4_000, variant=1_100, arm=10),
    "/segments": MostBytes(head=2_000, segment=530),
    PAGE: MostBytes(head=20_000, arm=1_800, day=70, choice=450),
}


@contextmanager
def a_wide_site(folder: Path, **widths: Width) -> Iterator[Site]:
    """Serve a project with an experiment of each width by its name, with no job in the background."""
    settings = Settings(data_dir=folder, fresh_read_seconds=600, results_seconds=600, refresh_seconds=10**6)
    now, first = utc_now(), 1
    with open_pipeline(settings) as store:
        account, _, token = store.catalog.accounts.create("Bench", "bench@example.com", "scale")
        store.catalog.accounts.update(account.id, rate_limit=10**9)
        store.catalog.projects.create(replace(PROJECT, account_id=account.id), actor="bench")
        with store.warehouse.transaction() as cursor:
            events.create_table(cursor, PROJECT.id)
            for name, width in widths.items():
                experiment = width.experiment(name, now)
                store.catalog.experiments.create(PROJECT.id, partial(_made, experiment), actor="bench")
                first = width.add_events(cursor, experiment, first)
    with patch.object(Scheduler, "start"), TestClient(create_app(settings)) as client:
        services: Services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
        browser = a_browser(client)
        assert browser.post("/sign-in", data={"key": token}).status_code == 303
        yield Site(client, services, token, browser)


def _made(experiment: Experiment, _: object) -> Experiment:
    return experiment


@dataclass(slots=True)
class Calls:
    """Number of calls of functions."""

    number: int = 0


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count the calls in the threads of results inside the block."""
    calls, run = Calls(), ResultsThreads.run

    def count(_frame: object, event: str, _argument: object) -> None:
        calls.number += event == "call"

    def counted(threads: ResultsThreads, project: str, work: Callable[[], Any]) -> Awaitable[Any]:
        def work_counted() -> Any:
            sys.setprofile(count)
            try:
                return work()
            finally:
                sys.setprofile(threading.getprofile())

        return run(threads, project, work_counted)

    with patch.object(ResultsThreads, "run", counted):
        yield calls
