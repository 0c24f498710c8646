"""Command `doctor`: what is wrong with an installation, and what to do, with a service and without."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import typer

from api.cli.console import CommandError, out, print_json
from api.cli.listening import ON_THIS_MACHINE
from api.cli.options import AsJson, DataDir
from api.cli.stores import require_store, settings_for

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from pipeline.examination import Examined

_MARKS: Final = {"ok": "ok", "warning": "warning", "problem": "PROBLEM", "not_checked": "not checked"}


def doctor(data_dir: DataDir = Path("data/store"), as_json: AsJson = False) -> None:
    """Examine disk, permissions, clock, catalog, runs and the service; exit status 1 with a problem."""
    from api.cli.client.running_service import find_service
    from pipeline.clock import utc_now
    from pipeline.examination import examine
    from pipeline.store.ownership.store_lock import locked_store

    require_store(data_dir)
    settings = settings_for(data_dir)
    service = find_service(data_dir)
    with ExitStack() as stack:
        if service is None:
            stack.enter_context(locked_store(settings))
        found = [*examine(settings, is_served=service is not None, now=utc_now())]
    found.extend(_service(service))
    problems = [one for one in found if one.status == "problem"]
    if as_json:
        status = "problems" if problems else "ok"
        print_json({"status": status, "checks": [asdict(one) for one in found]})
    else:
        for one in found:
            text = f"{_MARKS[one.status]}: {one.part}: {one.finding}"
            out.print(
                f"{text}\n  {one.action}" if one.action else text,
                soft_wrap=True,
                highlight=False,
                markup=False,
            )
    if problems:
        raise typer.Exit(1)


def _service(service: "RunningService | None") -> "Iterator[Examined]":
    from api.cli.client.running_service import ServiceClient
    from pipeline.examination import Examined

    if service is None:
        yield Examined("service", "ok", "no service serves this store now")
        return
    try:
        ready = ServiceClient(service, "").get("/readyz")
    except CommandError as error:
        yield Examined("service", "problem", str(error), "see the log of the service, and restart it")
        return
    failing = ready.get("failing_jobs", [])
    if failing:
        yield Examined(
            "service",
            "problem",
            f"jobs failed the last time they ran: {', '.join(failing)}",
            "see the log of the service for the reason",
        )
    else:
        yield Examined("service", "ok", f"the service at {service.url} is ready, and its jobs do their work")
    if not service.settings.has_base_url and urlsplit(service.owner.address).hostname in ON_THIS_MACHINE:
        yield Examined(
            "address",
            "warning",
            f"snippets and links name {service.url}, which only this machine reaches",
            "set TRUELIFT_BASE_URL to the address that browsers reach, and restart the service",
        )
