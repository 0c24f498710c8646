"""Commands `serve` and `openapi`: the service and its description."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.options import DataDir
from api.cli.stores import settings_for


def serve(
    data_dir: DataDir = Path("data/store"),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
) -> None:
    """Serve the API until Ctrl-C; one process owns the store."""
    run_service(data_dir, host, port)


def run_service(data_dir: Path, host: str, port: int) -> None:
    """Serve until stopped; `GET /healthz` answers 200 once requests are taken."""
    import uvicorn

    from api.app import create_app

    uvicorn.run(
        create_app(settings_for(data_dir)),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        # The application knows its trusted proxies.
        proxy_headers=False,
        # The service has no WebSockets, and their library would log paths before a key is removed from them.
        ws="none",
        timeout_graceful_shutdown=10,
    )


def openapi() -> None:
    """Print the OpenAPI document of the service."""
    import json

    from api.app import create_app

    print(json.dumps(create_app(settings_for(Path("data/store"))).openapi(), indent=2))  # noqa: T201 - for programs
