"""Page of a project's experiments: by life and verdict, searched, sorted, a page at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.auth import Caller, require_scope
from api.dashboard.addresses import project_address
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.forms import read_button
from api.dashboard.listed_rows import Rows, rows_of
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from api.deps import project_in_path
from api.services import Services
from engine.analysis.results.verdict_words import VERDICT_WORDS, VERDICTS, ShortWord, Verdict
from engine.design.lifecycle import OPEN, STARTED, UNSTARTED
from engine.design.project import Project
from engine.vocabulary import Status
from pipeline.store.catalog.experiment_listings import SORTS, ListedVerdict, Wanted
from pipeline.store.catalog.pagination import Page

PER_PAGE: Final = 25
ALL: Final = "all"
# Tabs by life, and the statuses on each.
TABS: Final[Mapping[str, tuple[str, tuple[Status, ...]]]] = MappingProxyType(
    {
        "current": ("Running and paused", OPEN),
        "drafts": ("Drafts", UNSTARTED),
        "ended": ("Ended", ("completed",)),
        "archived": ("Archived", ("archived",)),
        ALL: ("All", (*UNSTARTED, *STARTED)),
    }
)
_FILTERS: Final = ("status", "verdict", "search", "tag", "owner", "sort", "page")


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice with the number of experiments that it finds."""

    value: str
    label: str
    number: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ExperimentList:
    """What the page shows of a project."""

    project: Project
    rows: Rows
    tabs: Sequence[Chip]
    verdicts: Sequence[Chip]
    owners: Mapping[str, str]
    asked: Mapping[str, str]
    pages: Mapping[str, int]
    may_write: bool
    may_compare: bool
    is_empty: bool

    def address(self, **changed: str | None) -> str:
        """Return the address of the list with other choices, from its first page."""
        query = {**self.asked, "page": None, **changed}
        return "?" + urlencode({name: value for name, value in query.items() if value})

    def sorted_by(self, sort: str) -> str | None:
        """Tell which way the list is sorted by a column, as `aria-sort` has it; None for another column."""
        given = self.asked.get("sort", "")
        return {sort: "ascending", f"-{sort}": "descending"}.get(given)

    def turned(self, sort: str) -> str:
        """Return the address that sorts by a column, the other way where it is sorted by it already."""
        return self.address(sort=f"-{sort}" if self.sorted_by(sort) == "ascending" else sort)


@signed_in
async def show_experiments(request: Request, session: SignedIn) -> Response:
    """List the experiments of a project with their verdicts as last counted."""
    with refusals_as_pages(request):
        listed = await run_in_threadpool(_list, request, session)
    return await render(request, "experiments.html", session=session, project=listed.project, listed=listed)


@signed_in
async def copy_experiment(request: Request, session: SignedIn) -> Response:
    """Copy an experiment, and open the copy."""
    await read_button(request, session)
    experiments = f"{project_address(request)}/experiments"
    source = quote(request.path_params["experiment_id"], safe="")
    copied = content_of(await ask(request, session, f"{experiments}/{source}/copy", method="POST"))
    return redirect(f"{experiments}/{copied['data']['id']}/edit")


@signed_in
async def confirm_deletion(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a draft is deleted."""
    address = _address_of(request)
    experiment = (await read(request, session, address))["data"]
    if experiment["status"] != "draft":
        raise PageError(422, "Only a draft can be deleted.")
    return await render(
        request,
        "confirm.html",
        session=session,
        address=address,
        experiment=experiment,
        step="delete",
        sentence="The draft is gone for good. Nobody has seen it.",
        open_visitors=0,
    )


@signed_in
async def delete_draft(request: Request, session: SignedIn) -> Response:
    """Delete a draft that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, _address_of(request), method="DELETE"))
    return redirect(project_address(request))


def _address_of(request: Request) -> str:
    ids = (quote(request.path_params[name], safe="") for name in ("project_id", "experiment_id"))
    return "/projects/{}/experiments/{}".format(*ids)


def _list(request: Request, session: SignedIn) -> ExperimentList:
    services: Services = request.app.state.services
    caller, catalog = caller_of(request, session, "experiments:read"), services.catalog
    require_scope(caller, "projects:read")
    project = project_in_path(request.path_params["project_id"], caller, catalog)
    asked = {name: value for name in _FILTERS if (value := request.query_params.get(name))}
    has_results = "results:read" in caller.key.scopes
    counts = catalog.experiment_listings.counts(project.id)
    chosen = _statuses(asked, counts)
    wanted = _wanted(project.id, asked, chosen, has_results=has_results)
    found = catalog.experiment_listings.verdicts(wanted, page=page_in(asked), per_page=PER_PAGE)
    if not has_results:
        found = Page(
            [ListedVerdict(one.experiment, None) for one in found.items], found.page, PER_PAGE, found.total
        )
    owners = {one.id: one.name for one in catalog.members.accepted(caller.account.id)}
    by_tab, by_verdict = _numbers(counts, chosen)
    owning, _ = catalog.experiment_listings.found_by(project.id)
    return ExperimentList(
        project=project,
        rows=rows_of(found.items, owners),
        tabs=[Chip(tab, label, by_tab[tab], chosen == statuses) for tab, (label, statuses) in TABS.items()],
        verdicts=_verdict_chips(by_verdict, asked) if has_results else (),
        owners={one: owners[one] for one in owning if one in owners},
        asked={"sort": wanted.sort, **asked},
        pages={
            "page": found.page,
            "last": max(1, -(-found.total // PER_PAGE)),
            "total": found.total,
            "first": (found.page - 1) * PER_PAGE + 1,
            "end": (found.page - 1) * PER_PAGE + len(found.items),
        },
        may_write=_may_write(caller),
        may_compare=has_results and len(found.items) > 1,
        is_empty=not counts,
    )


def _may_write(caller: Caller) -> bool:
    return "experiments:write" in caller.key.scopes


def _statuses(asked: Mapping[str, str], counts: Mapping[Any, int]) -> tuple[Status, ...]:
    """Return the statuses that are listed: of a tab, or one; at first those that run, or all."""
    status = asked.get("status")
    if status is None:
        is_found = asked.keys() & {"search", "tag", "owner"}
        has_open = any(one in OPEN for one, _ in counts)
        return TABS["current" if has_open and not is_found else ALL][1]
    if status in TABS:
        return TABS[status][1]
    one = next((one for one in TABS[ALL][1] if one == status), None)
    if one is None:
        raise PageError(422, f"There is no status {status!r}.")
    return (one,)


def _wanted(
    project_id: str, asked: Mapping[str, str], statuses: tuple[Status, ...], *, has_results: bool
) -> Wanted:
    verdict = next((one for one in VERDICTS if one == asked.get("verdict")), None)
    sort = asked.get("sort", "verdict" if has_results else "-updated_at")
    if sort.removeprefix("-") not in SORTS:
        raise PageError(422, f"Experiments are not sorted by {sort!r}.")
    return Wanted(
        project_ids=[project_id],
        statuses=statuses,
        search=asked.get("search"),
        tag=asked.get("tag"),
        owner=asked.get("owner"),
        verdict=verdict if has_results else None,
        sort=sort,
    )


def page_in(asked: Mapping[str, str]) -> int:
    """Return the number of the page that is asked for; PageError 422."""
    text = asked.get("page", "1")
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0):
        raise PageError(422, f"There is no page {text!r}.")
    return int(text[:9])


def _numbers(
    counts: Mapping[tuple[Status, Verdict | None], int], chosen: tuple[Status, ...]
) -> tuple[dict[str, int], dict[Verdict, int]]:
    """Count the experiments of each tab, and those of each verdict in the chosen statuses."""
    tabs = {
        tab: sum(number for (status, _), number in counts.items() if status in statuses)
        for tab, (_, statuses) in TABS.items()
    }
    verdicts = dict.fromkeys(VERDICTS, 0)
    for (status, verdict), number in counts.items():
        if status in chosen and verdict is not None:
            verdicts[verdict] += number
    return tabs, verdicts


def _verdict_chips(numbers: Mapping[Verdict, int], asked: Mapping[str, str]) -> list[Chip]:
    """Offer the verdicts that there are, and the one that was chosen."""
    chosen = asked.get("verdict")
    named: list[tuple[Verdict, ShortWord]] = list(VERDICT_WORDS.items())
    return [
        Chip(one, word.label, numbers[one], one == chosen)
        for one, word in named
        if numbers[one] or one == chosen
    ]
