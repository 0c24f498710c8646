"""Pages with the form of a record: shown, saved, refused, and merged with what others have saved."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.drafts.opened_revision import OpenedRevision, SavedField
from api.dashboard.form_permissions import Permission, require
from api.dashboard.forms import fields_of, read_form
from api.dashboard.operations import ask, content_of
from api.dashboard.page_answers import redirect, render
from api.dashboard.page_threads import on_page_thread
from api.dashboard.project_pages.record_form import Form, RecordForm
from api.dashboard.sessions import SignedIn
from api.dashboard.typed_forms import typed_form
from api.results.entity_tags import strong_tag

# Hidden field: the changes of which a person was told what they do.
TOLD: Final = "told"
SAVED: Final = "saved"
# The second is asked for where the record, but nothing of its form, has changed.
_SAVES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """A page with the form of one record.

    `shown` makes the record that the form shows of the answer, `context` reads what else the template
    needs, `to_body` completes a body by the record before, and `effects` says what changes of a field do.
    """

    template: str
    form: RecordForm
    permission: Permission
    address: Callable[[Request], str]
    context: Callable[[Request, SignedIn, "ShownForm"], Awaitable[Mapping[str, object]]]
    shown: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    to_body: Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]] = lambda body, _: body
    effects: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownForm:
    """A form as a page shows it: its values, and why it was not saved."""

    values: Form
    # Nothing, of a record that is to be created.
    record: Mapping[str, Any] = field(default_factory=dict)
    opened: OpenedRevision | None = None
    problems: Problems = field(default_factory=dict)
    saved: Sequence[SavedField] | None = None
    # By changed field: what the change does.
    effects: Mapping[str, str] = field(default_factory=dict)
    is_typed: bool = False
    status: int = 200


async def show_record(request: Request, session: SignedIn, page: RecordPage) -> Response:
    """Show the form of a record, or what was typed before a session ended."""
    await require(request, session, page.permission)
    record, values, opened = await _read(request, session, page)
    shown = ShownForm(values=values, record=record, opened=opened)
    with typed_form(request) as typed:
        if typed is not None:
            sent = page.form.sent(typed)
            shown = replace(shown, values=sent, opened=OpenedRevision.sent(typed), is_typed=True)
        return await _answer(request, session, page, shown)


async def save_record(request: Request, session: SignedIn, page: RecordPage) -> Response:
    """Save the changes of a form; it is shown again where something has to be said first."""
    fields = fields_of(await read_form(request, session, page.permission))
    values, opened = await on_page_thread(
        request, lambda: (page.form.sent(fields), OpenedRevision.sent(fields))
    )
    for _ in range(_SAVES):
        record, current, now = await _read(request, session, page)
        saved: list[SavedField] = []
        if now.tag != opened.tag:
            merged = opened.merged
            values, saved = await on_page_thread(request, merged, values, current, fields, page.form.flags)
        shown = ShownForm(values=values, record=record, opened=now, saved=saved, status=412)
        if saved:
            return await _answer(request, session, page, shown)
        changed = await on_page_thread(request, page.form.changed, values, current)
        effects = {path: page.effects[path] for path in sorted(changed) if path in page.effects}
        shown = replace(shown, saved=None, effects=effects, status=200)
        if not changed:
            break
        if effects.keys() - fields.get(TOLD, "").split():
            return await _answer(request, session, page, shown)
        answer = await ask(
            request,
            session,
            page.address(request),
            method="PATCH",
            body=page.to_body(await on_page_thread(request, page.form.changes, values, current), record),
            if_match=now.tag,
        )
        opened = now
        if answer.status == 412:
            continue
        if problems := await on_page_thread(request, problems_of, answer, values):
            refused = replace(shown, problems=problems, status=answer.status)
            return await _answer(request, session, page, refused)
        break
    return redirect(f"{request.url.path}?{SAVED}=yes")


async def show_new_record(
    request: Request, session: SignedIn, page: RecordPage, defaults: Mapping[str, str]
) -> Response:
    """Show the form of a new record, or what was typed before a session ended."""
    await require(request, session, page.permission)
    with typed_form(request) as typed:
        values = page.form.sent(defaults if typed is None else typed)
        return await _answer(request, session, page, ShownForm(values=values, is_typed=typed is not None))


async def create_record(
    request: Request, session: SignedIn, page: RecordPage
) -> tuple[dict[str, Any], Response | None]:
    """Create the record of a form; return it, or the form with what is wrong."""
    sent = await read_form(request, session, page.permission)
    values = await on_page_thread(request, page.form.sent, fields_of(sent))
    body = page.to_body(await on_page_thread(request, page.form.body, values), {})
    answer = await ask(
        request,
        session,
        page.address(request),
        method="POST",
        body=body,
        idempotency_key=sent.submission_key,
    )
    if problems := problems_of(answer, values):
        shown = ShownForm(values=values, problems=problems, status=answer.status)
        return {}, await _answer(request, session, page, shown)
    return content_of(answer)["data"], None


async def _read(
    request: Request, session: SignedIn, page: RecordPage
) -> tuple[dict[str, Any], Form, OpenedRevision]:
    """Read a record, its form, and the revision that the form is opened with."""
    answer = await ask(request, session, page.address(request))
    record: dict[str, Any] = content_of(answer)["data"]
    values = page.form.of(page.shown(record))
    # An answer without a tag of its own has that of its content.
    tag = answer.headers.get("etag") or strong_tag(answer.body)
    return record, values, OpenedRevision.of(tag, values)


async def _answer(request: Request, session: SignedIn, page: RecordPage, shown: ShownForm) -> Response:
    return await render(
        request,
        page.template,
        session=session,
        status=shown.status,
        shown=shown,
        form=shown.values,
        problems=shown.problems,
        is_saved=SAVED in request.query_params and request.method == "GET",
        **await page.context(request, session, shown),
    )
