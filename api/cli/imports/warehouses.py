"""Commands for warehouses: their statements, and the verification of their dialect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import CommandError, out, print_error, print_json
from api.cli.options import AsJson, DataDir
from api.cli.runs import FAILED
from api.cli.stores import opened_catalog
from pipeline.clock import utc_now

if TYPE_CHECKING:
    from pipeline.warehouse.team_warehouse import TeamWarehouse
    from pipeline.warehouse.warehouse_check import CheckedWarehouse

FileOption = Annotated[Path, typer.Argument(help="File that describes a warehouse.")]
# Differences that are printed.
_MOST_SHOWN = 10


def sql(
    file: FileOption,
    experiment: Annotated[str, typer.Argument(help="Id or name of an experiment that has started.")],
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="Dialect to write it in, instead of the file's.")
    ] = None,
    data_dir: DataDir = Path("data/store"),
) -> None:
    """Print the statement that counts an experiment of a warehouse, without a connection to it."""
    from engine.local_days import epoch_microseconds
    from pipeline.rollup.counting_rules import CountingRules
    from pipeline.warehouse.dialects.dialect_table import DIALECTS

    warehouse = _described(file)
    if dialect is not None and dialect not in DIALECTS:
        raise typer.BadParameter(f"{dialect!r} is no dialect; use one of {', '.join(DIALECTS)}")
    with opened_catalog(data_dir) as catalog:
        found = [
            (project, one)
            for project in catalog.projects.all()
            if warehouse.source.project in {None, project.id}
            for one in catalog.experiments.of_project(project.id)
            if experiment in {one.id, one.name}
        ]
    if not found:
        raise CommandError(f"there is no experiment {experiment!r} in {data_dir}")
    project, one = found[-1]
    chosen = warehouse if dialect is None else warehouse.in_dialect(dialect)
    statement = chosen.statement([(one, CountingRules.of(project))], epoch_microseconds(utc_now()))
    for setting in chosen.dialect.session(chosen.source.timeout_seconds):
        typer.echo(f"-- Its session: {setting};")
    typer.echo(statement.sql(pretty=True) + ";")


def verify(file: FileOption, as_json: AsJson = False) -> None:
    """Count a sample shop in a warehouse, without a table there, and compare it with the service."""
    from pipeline.verification.verify_dialect import verify_dialect

    verified = verify_dialect(_described(file))
    if as_json:
        print_json(
            {
                "experiments": verified.experiments,
                "sums": verified.sums,
                "differences": list(verified.differences),
            }
        )
    else:
        of = f"{verified.sums:,} sums of {verified.experiments} experiments"
        equal = "every one is equal" if not verified.differences else f"{len(verified.differences):,} differ"
        out.print(f"{of}: {equal}.", highlight=False)
    for difference in verified.differences[:_MOST_SHOWN]:
        print_error(difference)
    if verified.differences:
        raise typer.Exit(FAILED)


def print_checked(checked: "CheckedWarehouse") -> None:
    """Print a warehouse that was checked."""
    planned = checked.bytes_planned
    billed = "" if planned is None else f", {planned:,} bytes billed a count"
    out.print(f"{checked.name}: {checked.rows:,} rows in {checked.dialect}{billed}", highlight=False)
    for name, variants in checked.variants.items():
        plan = (
            "its statement is planned" if name in checked.planned else "found by its name when it is counted"
        )
        out.print(f"  {name}: {', '.join(variants)}; {plan}", highlight=False)


def _described(file: Path) -> "TeamWarehouse":
    from pipeline.sources.definition_files import read_definition
    from pipeline.warehouse.team_warehouse import TeamWarehouse

    return TeamWarehouse.of(read_definition(file))
