"""Options that several commands share."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

if TYPE_CHECKING:
    from engine.frames.kinds import GoalKind
    from pipeline.store.source_databases.queries import Query

GOAL_KINDS: dict[str, "GoalKind"] = {"": "custom_event", "conversion": "custom_event", "revenue": "revenue"}

DataDir = Annotated[Path, typer.Option("--data-dir", help="Folder of the store.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
VariantOption = Annotated[str | None, typer.Option("--variant", help="Column with the variant.")]
ControlOption = Annotated[str | None, typer.Option("--control", help="Name of the control variant.")]
GoalOption = Annotated[
    list[str] | None,
    typer.Option("--goal", help="Column of a goal: `bought` (1 or 0), or `spend:revenue` (an amount)."),
]
VisitorOption = Annotated[str | None, typer.Option("--visitor", help="Column with the visitor's id.")]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", help="Column with what was assigned, such as an account, instead of visitors."),
]
TimestampOption = Annotated[str | None, typer.Option("--timestamp", help="Column with the time, in UTC.")]
MethodOption = Annotated[
    Literal["frequentist", "bayesian"], typer.Option("--method", help="Statistical method.")
]
ConfidenceOption = Annotated[
    int, typer.Option("--confidence", min=50, max=99, help="Confidence level in percent.")
]
_LOCATIONS_HELP: Final = (
    "CSV or Parquet files, patterns such as 'orders/*.parquet', folders, .duckdb files, "
    "postgresql:// and s3:// addresses, Delta and Iceberg tables; read as one."
)
LocationsArgument = Annotated[list[str], typer.Argument(help=_LOCATIONS_HELP)]
OptionalLocations = Annotated[list[str] | None, typer.Argument(help=_LOCATIONS_HELP)]
TableOption = Annotated[str | None, typer.Option("--table", help="Table of a .duckdb file or of PostgreSQL.")]
SqlOption = Annotated[
    Path | None, typer.Option("--sql", help="File with a SELECT, for a .duckdb file or PostgreSQL.")
]
RunningOption = Annotated[
    bool, typer.Option("--running", help="The test goes on: judge it by its plan, and not as finished.")
]


def goal_columns(options: list[str] | None) -> "dict[str, GoalKind]":
    """Parse `["bought", "spend:revenue"]` into column → goal type; BadParameter."""
    goals: dict[str, GoalKind] = {}
    for option in options or ():
        column, _, kind = option.partition(":")
        if kind not in GOAL_KINDS or not column:
            raise typer.BadParameter(
                f"{option!r}: write a column, or a column and its kind, such as `spend:revenue`"
            )
        goals[column] = GOAL_KINDS[kind]
    if not goals:
        raise typer.BadParameter("name at least one goal, such as --goal converted")
    return goals


def required_variant(variant: str | None) -> str:
    """Return the column with the variant; BadParameter where it is missing."""
    if variant is None:
        raise typer.BadParameter("name the column with the variant, such as --variant group")
    return variant


def required_control(control: str | None) -> str:
    """Return the control, which has no sensible default; BadParameter where it is missing."""
    if control is None:
        raise typer.BadParameter("name the control variant, such as --control A")
    return control


def query_of(table: str | None, sql: Path | None) -> "Query | None":
    """Return the query of `--table` or `--sql`, None without them; BadParameter."""
    from pipeline.store.source_databases.queries import Query

    if table is None and sql is None:
        return None
    if table is not None and sql is not None:
        raise typer.BadParameter("give --table or --sql, not both")
    if sql is None:
        return Query(table=table)
    try:
        return Query(sql=sql.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{sql} cannot be read: {error}") from None


def name_of(location: str) -> str:
    """Return the name of a file, folder, pattern or database without its ending."""
    parts = re.split(r"[/\\]", location.partition("?")[0].rstrip("/"))
    plain = [part for part in parts if part and not re.search(r"[*?\[:@=]", part)]
    return Path(plain[-1]).stem if plain else "import"
