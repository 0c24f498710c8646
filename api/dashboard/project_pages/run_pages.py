"""Page of a project's imports and runs, and the forms that start one."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.bodies.reader import SUFFIXES
from api.dashboard.addresses import project_address
from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.form_permissions import CHANGE_PROJECTS, may
from api.dashboard.forms import SUBMISSION, read_form
from api.dashboard.operations import SentContent, ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.sent_file import MOST_BYTES, read_file_form
from api.dashboard.projects import PER_PAGE, pages_of
from api.dashboard.sessions import SignedIn
from api.services import Services
from pipeline.runs.described_sources import sources_of

# Fields of the form of a file, which are parameters of the import.
FILE_FIELDS: Final = (
    *("variant", "control", "goals", "visitor", "timestamp", "segments", "unit", "name"),
    *("running", "max_bad_share"),
)
# By kind: what it is called, and what it does.
KINDS: Final[Mapping[str, str]] = {
    "import": "Imports",
    "rollup": "Counts of new events",
    "rebuild": "Recounts",
    "snapshot": "Snapshots",
    "all": "All",
}
STARTED: Final[Mapping[str, str]] = {
    "rollup": "Count new events",
    "rebuild": "Recount everything",
    "snapshot": "Write a snapshot",
}


@dataclass(frozen=True, slots=True)
class FileFields:
    """The form of a file as a page shows it."""

    values: Mapping[str, str] = field(default_factory=dict)
    problems: Problems = field(default_factory=dict)
    status: int = 200


@signed_in
async def show_runs(request: Request, session: SignedIn) -> Response:
    """List the runs of a project, with the forms that start one where the key may."""
    return await _page(request, session, FileFields())


@signed_in
async def start_run(request: Request, session: SignedIn) -> Response:
    """Start a run of a kind, or the import of a described source."""
    form = await read_form(request, session, CHANGE_PROJECTS)
    path, kind = project_address(request), str(form.get("kind", ""))
    source = str(form.get("source") or "")
    is_import = kind == "import"
    answer = await ask(
        request,
        session,
        f"{path}/imports" if is_import else f"{path}/runs",
        method="POST",
        body={"source": source} if is_import else {"kind": kind},
        idempotency_key=form.submission_key,
    )
    content_of(answer)
    return redirect(f"{path}/runs?kind={kind}&started=yes")


@signed_in
async def import_file(request: Request, session: SignedIn) -> Response:
    """Import a file that a browser sends; its columns are named in the form."""
    form = await read_file_form(request, session, CHANGE_PROJECTS)
    values = {name: form.fields.get(name, "").strip() for name in FILE_FIELDS}
    media_types = {suffix: media_type for media_type, suffix in SUFFIXES.items()}
    media_type = media_types.get(PurePath(form.name.lower()).suffix)
    if media_type is None:
        problems = {"file": ["choose a file whose name ends in .csv or .parquet"]}
        return await _page(request, session, FileFields(values, problems, 422))
    digest = hashlib.sha256(form.content + form.fields.get(SUBMISSION, "").encode()).hexdigest()
    answer = await ask(
        request,
        session,
        f"{project_address(request)}/imports",
        method="POST",
        query={"file_name": form.name[-255:], **{name: value for name, value in values.items() if value}},
        file=SentContent(form.content, media_type),
        idempotency_key=digest if form.fields.get(SUBMISSION) else None,
    )
    if problems := problems_of(answer, FILE_FIELDS):
        return await _page(request, session, FileFields(values, problems, answer.status))
    return redirect(f"{project_address(request)}/runs?kind=import&started=yes")


async def _page(request: Request, session: SignedIn, file: FileFields) -> Response:
    asked = {name: request.query_params.get(name) or None for name in ("kind", "status", "page")}
    kind = asked["kind"] or "import"
    query = {**asked, "kind": None if kind == "all" else kind, "per_page": PER_PAGE}
    listed = await read(request, session, f"{project_address(request)}/runs", query)
    may_start = await may(request, session, CHANGE_PROJECTS)
    return await render(
        request,
        "runs.html",
        session=session,
        status=file.status,
        address=project_address(request),
        runs=[{**run, "rows": rows_of(run["result"])} for run in listed["data"]],
        pages=pages_of(listed["meta"]),
        kinds=KINDS,
        kind=kind,
        chosen_status=asked["status"],
        started=STARTED,
        sources=await _sources(request) if may_start else {},
        may_start=may_start,
        is_started="started" in request.query_params,
        form=file.values,
        problems=file.problems,
        most_megabytes=MOST_BYTES // 2**20,
    )


def rows_of(result: Mapping[str, Any]) -> dict[str, int]:
    """Add up the rows of an import, of several sources or files, by what became of them."""
    parts = [one["rows"] for one in result.get("sources", [result]) if "rows" in one]
    return {name: sum(part.get(name, 0) for part in parts) for name in (parts[0] if parts else ())}


async def _sources(request: Request) -> dict[str, str]:
    """Read the kinds of the described sources that a project may import, by name."""
    services: Services = request.app.state.services

    def find() -> dict[str, str]:
        project = services.catalog.projects.find(request.path_params["project_id"])
        return {one.name: one.source.kind for one in sources_of(services, project)}

    return await run_in_threadpool(find)
