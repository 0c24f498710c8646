"""Command `report`: the report of a file as one HTML page, Markdown, JSON or a picture."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from api.cli.console import CommandError, out
from api.cli.measured_goals import MeasuredGoalOption, measured_goals
from api.cli.options import (
    ControlOption,
    LocationsArgument,
    RunningOption,
    SqlOption,
    TableOption,
    TimestampOption,
    VariantOption,
    VisitorOption,
    name_of,
    query_of,
    required_control,
)

if TYPE_CHECKING:
    from engine.analysis.results.report import Report

Format = Literal["html", "md", "json", "png"]


def report(
    files: LocationsArgument,
    to: Annotated[Path, typer.Option("--out", help="File to write; one that exists is replaced.")],
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: MeasuredGoalOption = None,
    visitor: VisitorOption = None,
    timestamp: TimestampOption = None,
    method: Annotated[
        Literal["frequentist", "bayesian"], typer.Option("--method", help="Statistical method.")
    ] = "frequentist",
    confidence: Annotated[
        int, typer.Option("--confidence", min=50, max=99, help="Confidence level in percent.")
    ] = 95,
    running: RunningOption = False,
    table: TableOption = None,
    sql: SqlOption = None,
    format_: Annotated[
        Format, typer.Option("--format", help="html: one page that needs no network; png: the forest plot.")
    ] = "html",
) -> None:
    """Write the report of files or another table; needs no service and no store."""
    from engine.frames.analyze import analyze_frame
    from pipeline.sources.locations import find_tables
    from pipeline.sources.whole_tables import read_whole

    if variant is None:
        raise typer.BadParameter("name the column with the variant, such as --variant group")
    goals = measured_goals(goal)
    named_control = required_control(control)
    tables = find_tables(files, query=query_of(table, sql))
    analyzed = analyze_frame(
        read_whole(tables, times=[timestamp] if timestamp else []),
        variant=variant,
        control=named_control,
        goals=goals,
        visitor=visitor,
        timestamp=timestamp,
        analysis_method=method,
        confidence_level=confidence,
        running=running,
        name=name_of(files[0]),
    )
    content = report_content(analyzed, format_)
    try:
        to.write_bytes(content)
    except OSError as failure:
        raise CommandError(f"{to} cannot be written: {failure.strerror}") from None
    out.print(f"Wrote {to}", soft_wrap=True, markup=False, highlight=False)


def report_content(analyzed: "Report", format_: Format) -> bytes:
    """Write a report in a format, as the bytes of a file."""
    from engine.charts.forest import chart_improvements
    from engine.charts.pictures import chart_png
    from engine.display.html_blocks import page_of
    from engine.display.report_document import document_of_report

    match format_:
        case "html":
            return page_of(document_of_report(analyzed), title=analyzed.experiment.name).encode()
        case "md":
            return analyzed.to_markdown().encode()
        case "json":
            return json.dumps(analyzed.to_dict(), indent=2, ensure_ascii=False, allow_nan=False).encode()
        case "png":
            return chart_png(chart_improvements(analyzed))
