"""Backups that the running service writes for the command `backup`."""

from pathlib import Path

import msgspec
from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from api.bodies.json_body import json_object
from api.errors import ApiError
from api.operator.operator_access import require_operator
from api.services import Services
from engine.typed_records import record_of
from pipeline.backup.writing import write_backup
from pipeline.backup_manifest import BackupError
from pipeline.disk_space import DiskFullError
from pipeline.store.private_files import FolderError


class BackupRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An absolute path on the machine of the service, and whether snapshots are copied."""

    folder: str
    with_snapshots: bool = False


async def create_backup(request: Request) -> JSONResponse:
    """Write a backup into a folder of this machine, and answer once it is whole."""
    require_operator(request)
    wanted = await _read(request)
    services: Services = request.app.state.services
    try:
        manifest = await run_in_threadpool(
            write_backup, services, Path(wanted.folder), with_snapshots=wanted.with_snapshots
        )
    except (BackupError, DiskFullError, FolderError) as error:
        # Not 503, after which a client would try again: the operator has to do something first.
        raise ApiError("invalid_request", str(error)) from error
    return JSONResponse({"data": manifest.summary()})


async def _read(request: Request) -> BackupRequest:
    body = await json_object(request)
    try:
        wanted = record_of(body, BackupRequest)
    except msgspec.ValidationError as error:
        raise ApiError("invalid_request", f"the request is not one for a backup: {error}") from error
    if not Path(wanted.folder).is_absolute():
        raise ApiError("invalid_request", "`folder` has to be an absolute path")
    return wanted
