"""Commands `serve` and `openapi`: the service and its description."""

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from api.cli.console import CommandError, err, out
from api.cli.listening import bound_sockets, listen, reachable_url
from api.cli.operation.backup import WEBHOOKS_HELD
from api.cli.options import DataDir
from api.cli.stores import require_catalog, settings_for

# Of an option that services were started with.
NO_COLLECTORS: Final = (
    "--collectors is gone and ignored: one process takes events with less processor time; "
    "beyond it, projects are divided among services"
)

if TYPE_CHECKING:
    import uvicorn

    from api.services import Services
    from pipeline.settings import Settings
    from pipeline.store.ownership.store_lock import OwnershipLostError, StoreLock


def serve(
    data_dir: DataDir = Path("data/store"),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    collectors: Annotated[int | None, typer.Option(hidden=True)] = None,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Go on with what is left of a store that is missing parts."),
    ] = False,
) -> None:
    """Serve the API until Ctrl-C; one process owns the store."""
    from pipeline.settings import ignored_variables

    require_catalog(data_dir)
    settings = settings_for(data_dir)
    if collectors is not None:
        err.print(NO_COLLECTORS, soft_wrap=True, highlight=False)
    if ignored := ignored_variables():
        err.print(f"Ignored, as they are no settings: {', '.join(ignored)}", soft_wrap=True, highlight=False)
    if settings.held_webhooks_path.exists():
        err.print(f"{WEBHOOKS_HELD} --data-dir {data_dir}", soft_wrap=True, highlight=False, markup=False)
    with locked_for_service(settings, host, port) as (lock, sockets):
        run_service(settings, lock, sockets, announce=_announce, accept_loss=accept_loss)


@contextmanager
def locked_for_service(
    settings: "Settings", host: str, port: int
) -> "Iterator[tuple[StoreLock, list[socket.socket]]]":
    """Lock the store, and bind the address, before anything is opened or changed.

    Raises:
        StoreOwnedError: another process owns the store.
        CommandError: the address cannot be used.
    """
    from pipeline.store.ownership.store_lock import locked_store

    with locked_store(settings) as lock, bound_sockets(host, port) as sockets:
        yield lock, sockets


def run_service(
    settings: "Settings",
    lock: "StoreLock",
    sockets: "list[socket.socket]",
    *,
    announce: Callable[[str], None],
    accept_loss: bool = False,
) -> None:
    """Serve on bound sockets until stopped; `announce` is called with the URL once connections are taken.

    `GET /healthz` answers 200 once requests are taken.
    """
    with without_collection():
        import uvicorn

        from api.app import create_app
        from api.logs import set_up_logging
        from api.server.config import server_config
        from api.server.garbage_collection import rare_collections
        from api.server.thread_switches import frequent_switches
        from api.services import open_services
        from pipeline.store.ownership.ownership_watch import watched_ownership

    set_up_logging()
    if not settings.has_base_url:
        settings = settings.model_copy(update={"base_url": reachable_url(sockets)})
    with ExitStack() as stack:
        # Opened here, since an error in the lifespan of the application would be a traceback.
        services = stack.enter_context(open_services(settings, lock=lock, accept_loss=accept_loss))
        app = create_app(settings, closing(stack, services))
        url = listen(sockets)
        lock.note_address(url)
        announce(url)
        reasons: list[str] = []
        server = uvicorn.Server(server_config(app, settings))
        watch = watched_ownership(lock, services.catalog, partial(_end, server, reasons))
        with suppress(KeyboardInterrupt), watch, rare_collections(), frequent_switches():
            server.run(sockets)
    if reasons:
        raise CommandError(reasons[0])


def _end(server: "uvicorn.Server", reasons: list[str], loss: "OwnershipLostError") -> None:
    reasons.append(f"{loss}: stop that process, or use another catalog")
    server.should_exit = True


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage inside the block, such as imports: they leave none, and searches take a tenth."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def closing(stack: ExitStack, services: "Services") -> "Iterator[Services]":
    """Hand over services that are open; the stack closes them at the end."""
    # A signal ends the process as soon as the server has stopped: what is open is closed before that.
    with stack:
        yield services


def _announce(url: str) -> None:
    out.print(f"Serving on {url} (Ctrl-C stops the service)", soft_wrap=True, highlight=False, markup=False)


def openapi() -> None:
    """Print the OpenAPI document of the service."""
    import json

    from api.app import create_app

    print(json.dumps(create_app(settings_for(Path("data/store"))).openapi(), indent=2))  # noqa: T201 - for programs
