"""Pages of a project's webhooks: list, form, deliveries, a test message, and secrets that are shown once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.form_permissions import CHANGE_PROJECTS
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, content_of
from api.dashboard.page_answers import render, signed_in
from api.dashboard.project_pages.message_pages import MessagePages
from api.dashboard.project_pages.record_form import FLAG, TEXT, RecordForm
from api.dashboard.project_pages.record_pages import (
    RecordPage,
    create_record,
    save_record,
    show_new_record,
    show_record,
)
from api.dashboard.sessions import SignedIn
from pipeline.store.catalog.webhooks.webhook_records import EVENTS

_PAGES: Final = MessagePages(place="webhooks", name="Webhook", events=EVENTS, shown_as="url")
FORM: Final = RecordForm(
    {**dict.fromkeys(("url", "description"), TEXT), "enabled": FLAG, **_PAGES.flags},
    required=frozenset({"url"}),
    wholes=frozenset({"events"}),
)
_PAGE: Final = RecordPage(
    template="webhook.html",
    form=FORM,
    permission=CHANGE_PROJECTS,
    address=_PAGES.address,
    context=_PAGES.context,
    shown=_PAGES.shown,
    to_body=_PAGES.body,
    effects={"enabled": "Switched off, a webhook gives up the messages that wait for it, for good."},
)
_NEW: Final = replace(_PAGE, address=_PAGES.collection)
_DEFAULTS: Final = {"enabled": "on", **dict.fromkeys(_PAGES.flags, "on")}

send_test: Final = signed_in(_PAGES.send_test)
confirm_webhook_deletion: Final = signed_in(_PAGES.confirm_deletion)
delete_webhook: Final = signed_in(_PAGES.delete)


@signed_in
async def show_webhooks(request: Request, session: SignedIn) -> Response:
    """List the webhooks of a project."""
    return await _PAGES.show_list(request, session, "webhooks.html")


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
    back = f"{_PAGES.collection(request)}/{created['webhook']['id']}"
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
async def confirm_rotation(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that the secret is replaced."""
    return await _PAGES.confirm(
        request,
        session,
        step="rotate",
        title="Replace the secret of {}?",
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
        f"{_PAGES.address(request)}/rotate_secret",
        method="POST",
        idempotency_key=form.submission_key,
    )
    return await _secret_page(request, session, content_of(answer)["data"], _PAGES.address(request))


async def _secret_page(
    request: Request, session: SignedIn, created: Mapping[str, Any], back: str
) -> Response:
    return await render(request, "webhook_secret.html", session=session, back=back, **created)
