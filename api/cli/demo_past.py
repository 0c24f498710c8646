"""Past of the demo: its experiments start, are looked at and end at their times, as those of a shop do."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from api.cli.console import err, progress

if TYPE_CHECKING:
    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from engine.simulation.demo_shop import DemoShop
    from pipeline.services import PipelineServices
    from pipeline.store.catalog.members import Member

SEED = 2026
# Of the looks, whose counts take a second each.
LOOKS_APART = timedelta(days=3)
# The hour in UTC, of the morning where the shop is.
LOOKED_AT = 9
ENDED_AFTER = timedelta(days=16)
# Within what is new since yesterday.
NEW_SINCE = timedelta(hours=20)
NOTE = "Hiding the field costs nothing and brings nothing. We keep it, as support asks for it."


@dataclass(slots=True)
class PastClock:
    """Clock of a store whose past is made."""

    now: datetime

    def __call__(self) -> datetime:
        """Return the time that the past has come to."""
        return self.now


def make_past(
    store: "PipelineServices",
    clock: PastClock,
    project: "Project",
    visitors: int,
    *,
    owner: "Member",
    now: datetime,
) -> "list[Experiment]":
    """Simulate the shop up to `now`, with a look every few days; `owner` decides about what has ended.

    Returns its experiments, the checkout first.
    """
    from engine.simulation.demo_shop import simulate_shop

    experiments = _start_experiments(store, project, now)
    with err.status(f"Simulating {visitors:,} visitors"):
        shop = simulate_shop(experiments, visitors=visitors, until=now, seed=SEED)
    _store_and_look(store, clock, project, shop, now)
    for experiment in experiments:
        if experiment.scheduled_end_at:
            decided = partial(_kept_control, owner=owner)
            store.catalog.experiments.change(project.id, experiment.id, decided, actor="demo")
    return [store.catalog.experiments.get(project.id, one.id) for one in experiments]


def _start_experiments(store: "PipelineServices", project: "Project", now: datetime) -> "list[Experiment]":
    """Create the shop's experiments, most of them started at the time of the first visitor."""
    from engine.simulation.demo_shop import DAYS, ENDED, EXPERIMENTS, NEW, TEAMS

    first = (now - timedelta(days=DAYS)).replace(hour=LOOKED_AT, minute=0, second=0, microsecond=0)
    members = store.catalog.members
    teams = {
        tag: members.add(project.account_id, f"{tag}@shop.example", name, actor="demo").id
        for tag, name in TEAMS.items()
    }
    ended = {**ENDED, "scheduled_end_at": (first + ENDED_AFTER).isoformat()}
    of_all = ((fields, first) for fields in (*EXPERIMENTS, ended))
    return [
        _started(store, project, {**fields, "assigned_user_ids": [teams[fields["tags"][0]]]}, at)
        for fields, at in (*of_all, (NEW, now - NEW_SINCE))
    ]


def _started(
    store: "PipelineServices", project: "Project", fields: dict[str, Any], at: datetime
) -> "Experiment":
    from engine.simulation.demo_shop import GOALS
    from pipeline.requests.experiments import create_draft

    draft = create_draft(store.catalog, project, {**fields, "goals": GOALS}, now=at, actor="demo")
    return store.catalog.experiments.change(
        project.id, draft.id, partial(_start_salted, now=at), actor="demo"
    )


def _start_salted(draft: "Experiment", *, now: datetime) -> "Experiment":
    from engine.design import lifecycle

    # With the same salt each time, visitors get the same variants, so the verdicts never vary.
    return lifecycle.start(replace(draft, salt=draft.test_key), now=now)


def _store_and_look(
    store: "PipelineServices", clock: PastClock, project: "Project", shop: "DemoShop", now: datetime
) -> None:
    """Store the events in the order of time, and look at the experiments and end them on the way."""
    from engine.simulation.demo_shop import events_by_time
    from pipeline.imports.event_rows import event_batch

    begin = min(one.started_at or now for one in shop.experiments)
    looks = [begin + number * LOOKS_APART for number in range(1, ceil((now - begin) / LOOKS_APART))]
    ends = [one.scheduled_end_at for one in shop.experiments if one.scheduled_end_at]
    moments, stored = [*sorted({*looks, *ends}), now], 0
    with progress() as bar:
        task = bar.add_task("Storing and counting events", total=len(moments))
        for moment, events in events_by_time(shop, moments):
            clock.now = moment
            if events.height:
                store.ingest.write_now(project.id, event_batch(events))
            stored += events.height
            _look(store, project, moment)
            bar.update(task, advance=1)
    err.print(f"{stored:,} events are on disk.")


def _look(store: "PipelineServices", project: "Project", moment: datetime) -> None:
    """End the experiments whose time is over, count the events so far, and record the looks that are due."""
    from engine.design.lifecycle import complete_as_scheduled, end_is_due

    experiments = store.catalog.experiments
    for one in experiments.of_project(project.id, ["running"]):
        if end_is_due(one, now=moment):
            ended = partial(complete_as_scheduled, now=moment)
            experiments.change(project.id, one.id, ended, actor="demo")
    begun = [one for one in experiments.of_project(project.id) if one.started_at and one.started_at < moment]
    store.rollup.refresh(project.id, [one.id for one in begun])
    for one in begun:
        store.due_looks.record(one, project, now=moment)


def _kept_control(experiment: "Experiment", *, owner: "Member") -> "Experiment":
    """Decide on the day of the end that the control stays."""
    from engine.design.conclusion import ShipRequest
    from engine.design.shipping import Decider, ship

    request = ShipRequest(decision="keep_control", note=NOTE)
    decided_at = (experiment.completed_at or experiment.updated_at) + timedelta(hours=5)
    return ship(experiment, request, (), by=Decider(owner.id, owner.name, ""), now=decided_at)
