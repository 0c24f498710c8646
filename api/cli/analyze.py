"""Verdicts from the command line: straight from a file, or after rolling a store up."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from api.cli.accounts import DataDir
from api.cli.console import out
from api.cli.importing import ControlOption, GoalOption, VariantOption, goal_columns, named_control
from api.cli.stores import opened_store


def rollup(
    data_dir: DataDir = Path("data/store"),
    full: Annotated[
        bool, typer.Option("--full", help="From the first event on, and report any drift.")
    ] = False,
) -> None:
    """Bring every project's results up to date (the service does this by itself while it runs)."""
    with opened_store(data_dir) as store:
        for project in store.catalog.projects.all():
            outcome = store.rollup.rebuild(project.id) if full else store.rollup.refresh(project.id)
            out.print(f"{project.name} ({project.id}): {outcome}", highlight=False)


def analyze(
    file: Annotated[
        Path, typer.Argument(help="CSV or Parquet; one row a visitor, or several with --visitor.")
    ],
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: GoalOption = None,
    visitor: Annotated[str | None, typer.Option("--visitor", help="Column with the visitor's id.")] = None,
    timestamp: Annotated[str | None, typer.Option("--timestamp", help="Column with the time, UTC.")] = None,
    method: Annotated[
        Literal["frequentist", "bayesian"], typer.Option("--method", help="How to judge.")
    ] = "frequentist",
    confidence: Annotated[int, typer.Option("--confidence", min=50, max=99, help="Percent.")] = 95,
    covariate: Annotated[
        list[str] | None,
        typer.Option("--covariate", help="`spend=spend_before`: what the visitor did before, to adjust by."),
    ] = None,
    orders: Annotated[
        list[str] | None,
        typer.Option("--orders", help="`spend=orders`: judge revenue per order, counted by that column."),
    ] = None,
    cap: Annotated[
        list[str] | None,
        typer.Option("--cap", help="`spend=99`: cut amounts at that percentile of those who paid."),
    ] = None,
) -> None:
    """Print a verdict straight from a file; no service, no store."""
    from api.cli.report_table import render_report
    from engine.frames.analyze import analyze_frame
    from pipeline.imports.tables import read_whole

    if variant is None:
        raise typer.BadParameter("name the column that says which variant was seen, such as --variant group")
    goals = goal_columns(goal)
    frame = read_whole(file, times=[timestamp] if timestamp else [])
    report = analyze_frame(
        frame,
        variant=variant,
        control=named_control(control),
        goals=goals,
        visitor=visitor,
        timestamp=timestamp,
        analysis_method=method,
        confidence_level=confidence,
        covariates=_by_goal(covariate, "--covariate spend=spend_before"),
        orders=_by_goal(orders, "--orders spend=orders"),
        caps={goal: _percentile(text) for goal, text in _by_goal(cap, "--cap spend=99").items()},
        name=file.stem,
    )
    out.print(render_report(report))


def _by_goal(given: list[str] | None, example: str) -> dict[str, str]:
    """What is said of each goal, as GOAL=VALUE."""
    found = {}
    for text in given or ():
        goal, equals, value = text.partition("=")
        if not (goal and equals and value):
            raise typer.BadParameter(f"{text!r} names no goal and value, such as {example}")
        found[goal] = value
    return found


def _percentile(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no percentile, such as 99") from None
