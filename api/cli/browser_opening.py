"""Command `open`: the dashboard in a browser, signed in by a link that works once."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.console import CommandError, out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import account_of, opened_catalog, require_store


def open_dashboard(
    data_dir: DataDir = Path("data/store"),
    account: Annotated[
        str | None, typer.Option("--account", help="Account id, where the store has several.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the link in a browser, or only print it.")] = True,
    as_json: AsJson = False,
) -> None:
    """Open the dashboard of the running service, signed in; the link works once, within a minute."""
    import webbrowser

    from api.cli.client.command_keys import DASHBOARD, command_key
    from api.cli.client.running_service import find_service
    from pipeline.clock import utc_now
    from pipeline.encryption_key import open_cipher

    require_store(data_dir)
    service = find_service(data_dir)
    if service is None:
        raise CommandError(f"no service runs on {data_dir}; run `truelift serve --data-dir {data_dir}` first")
    with opened_catalog(data_dir) as catalog:
        account_id = account_of(catalog, account)
        token = command_key(service.settings, catalog, account_id, DASHBOARD)
        encrypted = open_cipher(service.settings).encrypt(token.encode())
        secret = catalog.sign_in_links.create(encrypted, now=utc_now())
    link = f"{service.url}/sign-in/{secret}"
    if as_json:
        print_json({"url": link})
    else:
        out.print(link, soft_wrap=True, highlight=False, markup=False)
    # Its standard output is for programs then, which open the link themselves.
    if browser and not as_json:
        webbrowser.open(link)
