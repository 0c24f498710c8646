"""Parts that pages of webhooks and notification channels share: events, deliveries, tests and deletions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import item_address, project_address
from api.dashboard.form_permissions import CHANGE_PROJECTS, may
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render
from api.dashboard.project_pages.record_form import FLAG
from api.dashboard.project_pages.record_pages import ShownForm
from api.dashboard.projects import PER_PAGE, pages_of
from api.dashboard.sessions import SignedIn

# By the reason for which nothing is sent.
DISABLED: Final[Mapping[str, str]] = {
    "on_request": "switched off",
    "gone": "off: its address answered that it is gone",
    "failing": "off: no message was accepted for a day",
    "queue_full": "off: too many messages waited for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePages:
    """Pages of what is told of events: its place in addresses, its name and its events.

    `shown_as` is the field by which one is named.
    """

    place: str
    name: str
    events: tuple[str, ...]
    shown_as: str

    @property
    def boxes(self) -> Mapping[str, str]:
        """Events by the name of their box; a path of a form takes no dots of an event."""
        return {event.replace(".", "-"): event for event in self.events}

    @property
    def flags(self) -> Mapping[str, Any]:
        """Readers of the boxes."""
        return {f"events.{name}": FLAG for name in self.boxes}

    def collection(self, request: Request) -> str:
        """Return the address of the list."""
        return f"{project_address(request)}/{self.place}"

    def address(self, request: Request) -> str:
        """Return the address of the record of a page."""
        return item_address(request, self.place)

    def shown(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a record with its events as boxes."""
        events = {name: event in record["events"] for name, event in self.boxes.items()}
        return {**record, "events": events}

    def body(self, body: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body with its boxes as events."""
        if "events" not in body:
            return body
        return {**body, "events": [self.boxes[name] for name, is_on in body["events"].items() if is_on]}

    async def context(self, request: Request, session: SignedIn, shown: ShownForm) -> Mapping[str, object]:
        """Read what the page of a record has beside its form: a page of its deliveries."""
        collection = self.collection(request)
        context: dict[str, object] = {
            "address": self.address(request) if shown.record else f"{collection}/new",
            "collection": collection,
            "event_fields": self.boxes,
            "disabled": DISABLED,
        }
        if not shown.record:
            return {**context, "deliveries": [], "pages": None}
        query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
        listed = await read(request, session, f"{self.address(request)}/deliveries", query)
        return {**context, "deliveries": listed["data"], "pages": pages_of(listed["meta"])}

    async def show_list(self, request: Request, session: SignedIn, template: str) -> Response:
        """List the records of a project."""
        listed = await read(request, session, self.collection(request))
        return await render(
            request,
            template,
            session=session,
            address=project_address(request),
            collection=self.collection(request),
            listed=listed["data"],
            event_count=len(self.events),
            disabled=DISABLED,
            may_write=await may(request, session, CHANGE_PROJECTS),
        )

    async def send_test(self, request: Request, session: SignedIn) -> Response:
        """Queue a test message."""
        await read_button(request, session)
        content_of(await ask(request, session, f"{self.address(request)}/test", method="POST"))
        return redirect(f"{self.address(request)}#deliveries")

    async def confirm(  # noqa: PLR0913 - what the page says
        self, request: Request, session: SignedIn, *, step: str, title: str, sentence: str, button: str
    ) -> Response:
        """Ask for the confirmation of a step; the title has the name of the record in it."""
        record = (await read(request, session, self.address(request)))["data"]
        return await render(
            request,
            "confirm_form.html",
            session=session,
            title=title.format(record[self.shown_as]),
            sentence=sentence,
            address=f"{self.address(request)}/{step}",
            button=button,
            back=self.address(request),
            back_name=self.name,
        )

    async def confirm_deletion(self, request: Request, session: SignedIn) -> Response:
        """Ask for the confirmation that a record is deleted."""
        return await self.confirm(
            request,
            session,
            step="delete",
            title=f"Delete the {self.name.lower()} to {{}}?",
            sentence="Its deliveries are gone, and messages that wait are not sent. This cannot be undone.",
            button="Delete",
        )

    async def delete(self, request: Request, session: SignedIn) -> Response:
        """Delete a record that was confirmed."""
        await read_button(request, session)
        content_of(await ask(request, session, self.address(request), method="DELETE"))
        return redirect(self.collection(request))
