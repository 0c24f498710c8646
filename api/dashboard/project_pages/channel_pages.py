"""Pages of a project's notification channels: list, form, deliveries and a test message.

A destination is given and never shown: the form of a channel has none, and one that is typed replaces it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.form_permissions import CHANGE_PROJECTS
from api.dashboard.page_answers import redirect, signed_in
from api.dashboard.project_pages.message_pages import MessagePages
from api.dashboard.project_pages.record_form import FLAG, LINES, NUMBER, TEXT, RecordForm
from api.dashboard.project_pages.record_pages import (
    RecordPage,
    ShownForm,
    create_record,
    save_record,
    show_new_record,
    show_record,
)
from api.dashboard.sessions import SignedIn
from pipeline.store.catalog.webhooks.webhook_records import CHANNEL_EVENTS, CHANNEL_KINDS

_PAGES: Final = MessagePages(
    place="notification_channels",
    name="Notification channel",
    events=CHANNEL_EVENTS,
    shown_as="destination",
)
_HOURS: Final = {str(hour): f"{hour}:00" for hour in range(24)}
KIND_WORDS: Final[Mapping[str, str]] = {"slack": "Slack", "teams": "Teams", "email": "E-mail"}
FORM: Final = RecordForm(
    {
        **dict.fromkeys(("kind", "url", "description"), TEXT),
        "addresses": LINES,
        "digest_hour": NUMBER,
        "enabled": FLAG,
        **_PAGES.flags,
    },
    required=frozenset({"kind"}),
    wholes=frozenset({"events"}),
)


async def _context(request: Request, session: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    kind = shown.record.get("kind") or shown.values["kind"]
    return {
        **await _PAGES.context(request, session, shown),
        "kind": kind if kind in CHANNEL_KINDS else CHANNEL_KINDS[0],
        "kind_words": KIND_WORDS,
        "hours": _HOURS,
    }


_PAGE: Final = RecordPage(
    template="channel.html",
    form=FORM,
    permission=CHANGE_PROJECTS,
    address=_PAGES.address,
    context=_context,
    shown=_PAGES.shown,
    to_body=_PAGES.body,
    effects={"enabled": "Switched off, a channel gives up the messages that wait for it, for good."},
)
_NEW: Final = replace(_PAGE, address=_PAGES.collection)

send_channel_test: Final = signed_in(_PAGES.send_test)
confirm_channel_deletion: Final = signed_in(_PAGES.confirm_deletion)
delete_channel: Final = signed_in(_PAGES.delete)


@signed_in
async def show_channels(request: Request, session: SignedIn) -> Response:
    """List the notification channels of a project."""
    return await _PAGES.show_list(request, session, "channels.html")


@signed_in
async def show_new_channel(request: Request, session: SignedIn) -> Response:
    """Show the form of a new channel, of the kind that the address names."""
    kind = request.query_params.get("kind", CHANNEL_KINDS[0])
    defaults = {"kind": kind, "enabled": "on", **dict.fromkeys(_PAGES.flags, "on")}
    return await show_new_record(request, session, _NEW, defaults)


@signed_in
async def create_channel(request: Request, session: SignedIn) -> Response:
    """Create a channel, and show its page, from which a test message is sent."""
    created, refused = await create_record(request, session, _NEW)
    return refused or redirect(f"{_PAGES.collection(request)}/{created['id']}")


@signed_in
async def show_channel(request: Request, session: SignedIn) -> Response:
    """Show the form of a channel, and its deliveries."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_channel(request: Request, session: SignedIn) -> Response:
    """Save the changes of a channel."""
    return await save_record(request, session, _PAGE)
