"""Pages of a project's webhooks: list, forms, deliveries, a test message, and secrets that are shown once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.form_permissions import CHANGE_PROJECTS, may
from api.dashboard.forms import read_button, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.addresses import item_address, project_address
from api.dashboard.project_pages.record_form import FLAG, TEXT, RecordForm
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
from pipeline.store.catalog.webhooks.webhook_records import EVENTS

# A path of a form takes no dots of an event.
_EVENT_FIELDS: Final = {event.replace(".", "-"): event for event in EVENTS}
FORM: Final = RecordForm(
    {
        **dict.fromkeys(("url", "description"), TEXT),
        "enabled": FLAG,
        **{f"events.{name}": FLAG for name in _EVENT_FIELDS},
    },
    required=frozenset({"url"}),
    wholes=frozenset({"events"}),
)
# By the reason for which a webhook is disabled.
DISABLED: Final[Mapping[str, str]] = {
    "on_request": "switched off",
    "gone": "off: its address answered 410 Gone",
    "failing": "off: no message was accepted for a day",
    "queue_full": "off: too many messages waited for it",
}


def _collection(request: Request) -> str:
    return f"{project_address(request)}/webhooks"


def _webhook(request: Request) -> str:
    return item_address(request, "webhooks")


def _shown(webhook: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a webhook with its events as boxes."""
    events = {name: event in webhook["events"] for name, event in _EVENT_FIELDS.items()}
    return {**webhook, "events": events}


def _body(body: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with its boxes as events."""
    if "events" not in body:
        return body
    return {**body, "events": [_EVENT_FIELDS[name] for name, is_on in body["events"].items() if is_on]}


async def _context(request: Request, session: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    context: dict[str, object] = {
        "address": _webhook(request) if shown.record else f"{_collection(request)}/new",
        "collection": _collection(request),
        "webhook": shown.record,
        "event_fields": _EVENT_FIELDS,
        "disabled": DISABLED,
    }
    if not shown.record:
        return {**context, "deliveries": [], "pages": None}
    query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
    listed = await read(request, session, f"{_webhook(request)}/deliveries", query)
    return {**context, "deliveries": listed["data"], "pages": pages_of(listed["meta"])}


_PAGE: Final = RecordPage(
    template="webhook.html",
    form=FORM,
    permission=CHANGE_PROJECTS,
    address=_webhook,
    context=_context,
    shown=_shown,
    to_body=_body,
    effects={"enabled": "Switched off, a webhook gives up the messages that wait for it, for good."},
)
_NEW: Final = replace(_PAGE, address=_collection)
_DEFAULTS: Final = {"enabled": "on", **{f"events.{name}": "on" for name in _EVENT_FIELDS}}


@signed_in
async def show_webhooks(request: Request, session: SignedIn) -> Response:
    """List the webhooks of a project."""
    listed = await read(request, session, _collection(request))
    return await render(
        request,
        "webhooks.html",
        session=session,
        address=project_address(request),
        webhooks=listed["data"],
        event_count=len(EVENTS),
        disabled=DISABLED,
        may_write=await may(request, session, CHANGE_PROJECTS),
    )


@signed_in
async def show_new_webhook(request: Request, session: SignedIn) -> Response:
    """Show the form of a new webhook."""
    return await show_new_record(request, session, _NEW, _DEFAULTS)


@signed_in
async def create_webhook(request: Request, session: SignedIn) -> Response:
    """Create a webhook, and show its secret this once."""
    created, refused = await create_record(request, session, _NEW)
    if refused:
        return refused
    back = f"{_collection(request)}/{created['webhook']['id']}"
    return await _secret_page(request, session, created, back)


@signed_in
async def show_webhook(request: Request, session: SignedIn) -> Response:
    """Show the form of a webhook, and its deliveries."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_webhook(request: Request, session: SignedIn) -> Response:
    """Save the changes of a webhook."""
    return await save_record(request, session, _PAGE)


@signed_in
async def send_test(request: Request, session: SignedIn) -> Response:
    """Queue a test message."""
    await read_button(request, session)
    content_of(await ask(request, session, f"{_webhook(request)}/test", method="POST"))
    return redirect(f"{_webhook(request)}#deliveries")


@signed_in
async def confirm_rotation(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that the secret is replaced."""
    return await _confirm(
        request,
        session,
        step="rotate",
        title="Replace the secret of {url}?",
        sentence="The new secret is shown once. For a day messages are signed by both of them, so that your "
        "server can change.",
        button="Replace",
    )


@signed_in
async def rotate_secret(request: Request, session: SignedIn) -> Response:
    """Replace the secret, and show the new one this once."""
    form = await read_form(request, session, CHANGE_PROJECTS)
    answer = await ask(
        request,
        session,
        f"{_webhook(request)}/rotate_secret",
        method="POST",
        idempotency_key=form.submission_key,
    )
    return await _secret_page(request, session, content_of(answer)["data"], _webhook(request))


@signed_in
async def confirm_webhook_deletion(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a webhook is deleted."""
    return await _confirm(
        request,
        session,
        step="delete",
        title="Delete the webhook to {url}?",
        sentence="Its deliveries are gone, and messages that wait are not sent. This cannot be undone.",
        button="Delete",
    )


@signed_in
async def delete_webhook(request: Request, session: SignedIn) -> Response:
    """Delete a webhook that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, _webhook(request), method="DELETE"))
    return redirect(_collection(request))


async def _confirm(  # noqa: PLR0913 - what the page says
    request: Request, session: SignedIn, *, step: str, title: str, sentence: str, button: str
) -> Response:
    webhook = (await read(request, session, _webhook(request)))["data"]
    return await render(
        request,
        "confirm_form.html",
        session=session,
        title=title.format(url=webhook["url"]),
        sentence=sentence,
        address=f"{_webhook(request)}/{step}",
        button=button,
        back=_webhook(request),
        back_name="Webhook",
    )


async def _secret_page(
    request: Request, session: SignedIn, created: Mapping[str, Any], back: str
) -> Response:
    return await render(request, "webhook_secret.html", session=session, back=back, **created)
