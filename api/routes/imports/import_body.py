"""Uploaded files: streamed to the disk, and gone unless the request keeps them."""

from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from api.bodies.json_body import MEDIA_TYPE, json_object
from api.bodies.reader import SUFFIXES, content_encoding_of, media_type_of
from api.deps import ProjectOfWritableRuns, ServicesDep
from api.errors import ApiError
from api.services import Services
from engine.design.project import Project
from pipeline.imports.import_requests import SentFile
from pipeline.runs.uploads import Upload, UploadLimit
from pipeline.store.catalog.errors import NotFoundError

# Parts of a body are written together.
_WRITE_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportBody:
    """Body of an import: the JSON object that names a source, or a file that was received."""

    fields: dict[str, Any] = field(default_factory=dict)
    upload: Upload | None = None
    suffix: str = ""

    @property
    def sent(self) -> SentFile | None:
        """The file's digest, size and format, None without a file."""
        if self.upload is None:
            return None
        return SentFile(sha256=self.upload.sha256, size=self.upload.size, suffix=self.suffix)


async def import_body(
    request: Request, project: ProjectOfWritableRuns, services: ServicesDep
) -> AsyncIterator[ImportBody]:
    """Receive a body, and remove its file after the request unless an import keeps it.

    Raises:
        ApiError: `unsupported_media_type`, `payload_too_large`, and those of a JSON object.
    """
    media_type = media_type_of(request, default=MEDIA_TYPE)
    if media_type == MEDIA_TYPE:
        yield ImportBody(fields=await json_object(request))
        return
    if media_type not in SUFFIXES or content_encoding_of(request) != "identity":
        listed = ", ".join((*SUFFIXES, MEDIA_TYPE))
        raise ApiError("unsupported_media_type", f"send {listed}, as it is, without an encoding")
    with closing(await run_in_threadpool(begin_upload, services, project)) as upload:
        await receive(request, upload)
        try:
            yield ImportBody(upload=upload, suffix=SUFFIXES[media_type])
        except Exception:
            await run_in_threadpool(_discard_unqueued, services, project, upload)
            raise


ImportBodyDep = Annotated[ImportBody, Depends(import_body)]


def begin_upload(services: Services, project: Project, limit: UploadLimit | None = None) -> Upload:
    """Begin a file of a project, within its limit and those of its account."""
    projects = services.catalog.projects.ids(project.account_id)
    return Upload(services.settings, project.id, projects, limit=limit)


def _discard_unqueued(services: Services, project: Project, upload: Upload) -> None:
    """Discard the file of a run whose record was not committed; one that may have been stays."""
    try:
        if upload.run_id is not None:
            services.catalog.runs.get(project.id, upload.run_id)
    except NotFoundError:
        upload.discard()


async def receive(request: Request, upload: Upload) -> None:
    """Write the body into the file, part by part."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal():
        await run_in_threadpool(upload.require_room, int(declared))
    parts, size, is_more = list[bytes](), 0, True
    while is_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        is_more = message.get("more_body", False)
        if size >= _WRITE_BYTES or not is_more:
            await run_in_threadpool(upload.write, b"".join(parts))
            parts, size = [], 0
    # Stands for the content where equal requests are recognized.
    request.state.body = upload.sha256.encode()
