"""Command `check`: problems of a store, and what to do about each."""

from dataclasses import asdict
from pathlib import Path

import typer

from api.cli.console import out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import require_store, settings_for


def check(data_dir: DataDir = Path("data/store"), as_json: AsJson = False) -> None:
    """Compare catalog, warehouse, sequence numbers and snapshots; exit status 1 where something is wrong."""
    from pipeline.inspection import inspect_store
    from pipeline.store.ownership.store_lock import locked_store

    settings = settings_for(data_dir)
    require_store(data_dir)
    with locked_store(settings):
        findings = inspect_store(settings)
    if as_json:
        print_json({"status": "problems" if findings else "ok", "problems": [*map(asdict, findings)]})
    elif findings:
        for finding in findings:
            text = f"{finding.part}: {finding.problem}\n  {finding.action}"
            out.print(text, soft_wrap=True, highlight=False)
    else:
        out.print(f"The store in {data_dir} is sound.", soft_wrap=True, highlight=False)
    if findings:
        raise typer.Exit(1)
