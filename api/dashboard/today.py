"""Page of today: what needs a decision, what is broken, what runs, and what has changed since yesterday."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.auth import Caller
from api.dashboard.first_hour import FirstStep, first_steps
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.listed_rows import Row, Rows, rows_of
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.sessions import SignedIn
from api.dashboard.today_feed import FeedEntry, feed_of
from api.dashboard.waiting_rows import Waiting, broken_row, ready_row
from api.services import Services
from engine.analysis.results.kept_verdict import ExperimentChange
from engine.design.lifecycle import OPEN, UNSTARTED
from engine.time_zones import zone
from engine.vocabulary import Status
from pipeline.clock import utc_now
from pipeline.results.recent_changes import recent_changes
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiment_listings import ExperimentListings, ListedVerdict, Wanted

SINCE: Final = timedelta(hours=24)
LATELY: Final = timedelta(days=30)
# A variant that is shown to everybody by the script for so long is to be built into the site.
BUILT_IN_AFTER: Final = timedelta(days=60)
MOST_READY: Final = 25
MOST_RUNNING: Final = 25
MOST_ENDED: Final = 10
MOST_CHANGES: Final = 12
MOST_REVIEWS: Final = 25
_MOST_READ: Final = 500
# Of the page: without them the list of projects is the first page.
_SCOPES: Final = frozenset({"projects:read", "experiments:read", "results:read"})
_ENDED: Final[tuple[Status, ...]] = ("completed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """What the page shows; `projects` are the names of several by id, and empty for one."""

    now: datetime
    zone: str
    counted_at: datetime | None
    ready: Sequence[Waiting]
    ready_number: int
    broken: Sequence[Waiting]
    running: Rows
    running_number: int
    reviews: Sequence[Row]
    rollouts: Sequence[tuple[Row, int]]
    ended: Sequence[Row]
    feed: Sequence[FeedEntry]
    first_steps: Sequence[FirstStep]
    projects: Mapping[str, str]
    only_project: str | None
    may_write: bool

    @property
    def home(self) -> str:
        """The address of the one project, or of the list of several."""
        return "/projects" if self.only_project is None else f"/projects/{self.only_project}"

    @property
    def next_decision(self) -> Row | None:
        """The running experiment that is decided first."""
        dated = [row for row in self.running.rows if row.decision_at is not None]
        return min(dated, key=lambda row: row.decision_at or self.now, default=None)


@signed_in
async def show_today(request: Request, session: SignedIn) -> Response:
    """Show today; a key that may not read results sees the list of projects instead."""
    with refusals_as_pages(request):
        today = await run_in_threadpool(_today, request, session)
    if today is None:
        return redirect("/projects")
    return await render(request, "today.html", session=session, today=today, only_project=today.only_project)


def _today(request: Request, session: SignedIn) -> Today | None:
    services: Services = request.app.state.services
    caller, catalog, now = caller_of(request, session, "projects:read"), services.catalog, utc_now()
    if not set(caller.key.scopes) >= _SCOPES:
        return None
    reached = catalog.projects.page(
        caller.account.id, only=caller.key.project_ids, page=1, per_page=_MOST_READ
    ).items
    ids = [one.id for one in reached]
    listings = catalog.experiment_listings
    found = listings.verdicts(Wanted(project_ids=ids, statuses=OPEN, sort="since"), per_page=_MOST_READ)
    past = Wanted(project_ids=ids, statuses=_ENDED, sort="-updated_at")
    ended = [one for one in listings.verdicts(past, per_page=100).items if _is_late(one, now)]
    owners = {one.id: one.name for one in catalog.members.accepted(caller.account.id)}
    rows = rows_of((*found.items, *ended), owners).rows
    running = [
        one for one, row in zip(found.items, rows, strict=False) if not (row.is_decidable or row.is_broken)
    ]
    waiting = sorted((row for row in rows if row.is_decidable and row.kept), key=_since)
    reviews = _waiting_reviews(listings, ids, owners)
    project = reached[0] if reached else None
    local = zone(project.timezone if project else "UTC")
    at_home = now.astimezone(local)
    names = {one.id: one.name for one in reached} if len(reached) > 1 else {}
    return Today(
        now=at_home,
        zone=_zone_in_words(str(local)),
        counted_at=max((row.kept.counted_at for row in rows if row.kept), default=None),
        ready=[
            ready_row(row, row.kept, at_home, names.get(row.experiment.project_id))
            for row in waiting[:MOST_READY]
            if row.kept
        ],
        ready_number=len(waiting),
        broken=[
            broken_row(row, row.kept, at_home, names.get(row.experiment.project_id))
            for row in rows
            if row.is_broken and row.kept and _is_open(row)
        ],
        running=rows_of(running[:MOST_RUNNING], owners),
        running_number=len(running),
        reviews=reviews,
        rollouts=_old_rollouts(listings, ids, owners, now),
        ended=[row for row in rows if not _is_open(row) and not row.is_decidable][:MOST_ENDED],
        feed=feed_of(
            rows,
            _changes(catalog, caller, (*found.items, *ended), now),
            now=now,
            zone=local,
            most=MOST_CHANGES,
        ),
        first_steps=[] if rows or reviews else first_steps(catalog, project),
        projects=names,
        only_project=project.id if project and len(reached) == 1 else None,
        may_write="experiments:write" in caller.key.scopes,
    )


def _waiting_reviews(
    listings: ExperimentListings, project_ids: Sequence[str], owners: Mapping[str, str]
) -> Sequence[Row]:
    """List the experiments that wait for a second member's yes, the newest first."""
    wanted = Wanted(project_ids=project_ids, statuses=(*UNSTARTED, *OPEN, "completed"), waits_for_review=True)
    return rows_of(listings.verdicts(wanted, per_page=MOST_REVIEWS).items, owners).rows


def _old_rollouts(
    listings: ExperimentListings, project_ids: Sequence[str], owners: Mapping[str, str], now: datetime
) -> list[tuple[Row, int]]:
    """List the rollouts that are to be built into the site, each with its days."""
    wanted = Wanted(
        project_ids=project_ids,
        statuses=("completed", "archived"),
        rolled_out_before=now - BUILT_IN_AFTER,
        sort="started_at",
    )
    rows = rows_of(listings.verdicts(wanted, per_page=MOST_ENDED).items, owners).rows
    since = [datetime.fromisoformat((row.experiment.rollout or {})["started_at"]) for row in rows]
    return [(row, (now - at).days) for row, at in zip(rows, since, strict=True)]


def _changes(
    catalog: Catalog, caller: Caller, found: Iterable[ListedVerdict], now: datetime
) -> Mapping[str, Sequence[ExperimentChange]]:
    listed = list(found)
    entries = catalog.audit.since(caller.account.id, now - SINCE, {one.experiment.id for one in listed})
    names = {key.id: key.name for key in catalog.keys.of_account(caller.account.id)}
    return recent_changes(listed, entries, names, since=now - SINCE)


def _is_late(one: ListedVerdict, now: datetime) -> bool:
    ended = one.experiment.completed_at
    return ended is not None and now - ended < LATELY


def _zone_in_words(name: str) -> str:
    """Name a time zone by its place: "New York time" for America/New_York."""
    return f"{name.rpartition('/')[2].replace('_', ' ')} time" if "/" in name else name


def _since(row: Row) -> datetime:
    """Return the time since which a verdict holds; rows of ended experiments come after those that run."""
    return row.kept.since if row.kept else datetime.max.replace(tzinfo=UTC)


def _is_open(row: Row) -> bool:
    return row.experiment.status in OPEN
