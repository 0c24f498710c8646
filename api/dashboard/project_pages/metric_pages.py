"""Pages of a project's metrics: the library, and the forms that create, change and delete one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import item_address, project_address
from api.dashboard.drafts.form_fields import CHOICES, MEASURE_KEYS
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, may
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.metric_form import EFFECTS, FORM, metric_body, shown_metric
from api.dashboard.project_pages.record_pages import (
    RecordPage,
    ShownForm,
    create_record,
    save_record,
    show_new_record,
    show_record,
)
from api.dashboard.projects import PER_PAGE, pages_of
from api.dashboard.sessions import SignedIn
from api.services import Services
from engine.design.metrics.metric_goals import FOLLOWING
from pipeline.store.catalog.metrics.metric_repository import MetricUser


def _collection(request: Request) -> str:
    return f"{project_address(request)}/metrics"


def _metric(request: Request) -> str:
    return item_address(request, "metrics")


async def _context(request: Request, _: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    metric_id = shown.record.get("id")
    return {
        "address": _metric(request) if metric_id else f"{_collection(request)}/new",
        "collection": _collection(request),
        "metric": shown.record,
        "users": (await _users(request)).get(metric_id, []) if metric_id else [],
        "measure_keys": MEASURE_KEYS,
        "choices_of": lambda path: CHOICES[f"goals[].{path}"],
    }


_PAGE: Final = RecordPage(
    template="metric.html",
    form=FORM,
    permission=WRITE_EXPERIMENTS,
    address=_metric,
    context=_context,
    shown=shown_metric,
    to_body=metric_body,
    effects=EFFECTS,
)
_NEW: Final = replace(_PAGE, address=_collection)


@signed_in
async def show_metrics(request: Request, session: SignedIn) -> Response:
    """List the metrics of a project, with the experiments that use each."""
    query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
    listed = await read(request, session, _collection(request), query)
    return await render(
        request,
        "metrics.html",
        session=session,
        address=project_address(request),
        metrics=listed["data"],
        pages=pages_of(listed["meta"]),
        users=await _users(request),
        may_write=await may(request, session, WRITE_EXPERIMENTS),
        is_saved="saved" in request.query_params,
    )


@signed_in
async def show_new_metric(request: Request, session: SignedIn) -> Response:
    """Show the form of a new metric."""
    return await show_new_record(request, session, _NEW, {"goal_type": "custom_event"})


@signed_in
async def create_metric(request: Request, session: SignedIn) -> Response:
    """Create a metric, and lead to the library."""
    _, refused = await create_record(request, session, _NEW)
    return refused or redirect(f"{_collection(request)}?saved=yes")


@signed_in
async def show_metric(request: Request, session: SignedIn) -> Response:
    """Show the form of a metric."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_metric(request: Request, session: SignedIn) -> Response:
    """Save the changes of a metric."""
    return await save_record(request, session, _PAGE)


@signed_in
async def confirm_metric_deletion(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a metric is deleted, or say which drafts use it."""
    metric = (await read(request, session, _metric(request)))["data"]
    drafts = [one.name for one in (await _users(request)).get(metric["id"], ()) if one.status in FOLLOWING]
    sentence = "Experiments that have started keep what they measure. No further goal can name it."
    if drafts:
        sentence = (
            f"These use it and have not started: {', '.join(drafts)}. Take it out of their goals first."
        )
    return await render(
        request,
        "confirm_form.html",
        session=session,
        title=f"Delete “{metric['name']}”?",
        sentence=sentence,
        address=f"{_metric(request)}/delete",
        button=None if drafts else "Delete",
        back=_collection(request),
        back_name="Metrics",
    )


@signed_in
async def delete_metric(request: Request, session: SignedIn) -> Response:
    """Delete a metric that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, _metric(request), method="DELETE"))
    return redirect(_collection(request))


async def _users(request: Request) -> dict[str, list[MetricUser]]:
    """Read the experiments that use each metric; the key has read the project's metrics."""
    services: Services = request.app.state.services
    return await run_in_threadpool(services.catalog.metrics.users, request.path_params["project_id"])
