"""Commands `analyze` and `rollup`: the results of a file, and of a store."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from api.cli.console import out
from api.cli.options import (
    ControlOption,
    DataDir,
    GoalOption,
    RunningOption,
    TimestampOption,
    VariantOption,
    VisitorOption,
    goal_columns,
    required_control,
)
from api.cli.stores import opened_store


def rollup(
    data_dir: DataDir = Path("data/store"),
    full: Annotated[
        bool, typer.Option("--full", help="Recompute from the first event, and report any drift.")
    ] = False,
) -> None:
    """Bring every project's results up to date (the service does this by itself while it runs)."""
    with opened_store(data_dir) as store:
        for project in store.catalog.projects.all():
            outcome = store.rollup.rebuild(project.id) if full else store.rollup.refresh(project.id)
            out.print(f"{project.name} ({project.id}): {outcome}", highlight=False)


def analyze(
    file: Annotated[
        Path, typer.Argument(help="CSV or Parquet; one row per visitor, or several with --visitor.")
    ],
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: GoalOption = None,
    visitor: VisitorOption = None,
    timestamp: TimestampOption = None,
    method: Annotated[
        Literal["frequentist", "bayesian"], typer.Option("--method", help="Statistical method.")
    ] = "frequentist",
    confidence: Annotated[
        int, typer.Option("--confidence", min=50, max=99, help="Confidence level in percent.")
    ] = 95,
    alternative: Annotated[
        Literal["two_sided", "one_sided"],
        typer.Option("--alternative", help="one_sided tests the wanted direction alone (frequentist)."),
    ] = "two_sided",
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            help="`spend=spend_before`: column with the value before the experiment, for CUPED.",
        ),
    ] = None,
    orders: Annotated[
        list[str] | None,
        typer.Option(
            "--orders", help="`spend=orders`: analyze revenue per order; the column counts the orders."
        ),
    ] = None,
    cap: Annotated[
        list[str] | None,
        typer.Option("--cap", help="`spend=99`: cap amounts at this percentile of paying visitors."),
    ] = None,
    running: RunningOption = False,
) -> None:
    """Analyze a file and print the verdict; needs no service and no store."""
    from api.cli.report_table import render_report
    from engine.design.analysis_settings import Statistics
    from engine.frames.analyze import analyze_frame
    from pipeline.imports.tables import read_whole

    if variant is None:
        raise typer.BadParameter("name the column with the variant, such as --variant group")
    goals = goal_columns(goal)
    frame = read_whole(file, times=[timestamp] if timestamp else [])
    report = analyze_frame(
        frame,
        variant=variant,
        control=required_control(control),
        goals=goals,
        visitor=visitor,
        timestamp=timestamp,
        analysis_method=method,
        confidence_level=confidence,
        statistics=Statistics(alternative=alternative),
        covariates=_by_goal(covariate, "--covariate spend=spend_before"),
        orders=_by_goal(orders, "--orders spend=orders"),
        caps={goal: _percentile(text) for goal, text in _by_goal(cap, "--cap spend=99").items()},
        running=running,
        name=file.stem,
    )
    out.print(render_report(report))


def _by_goal(given: list[str] | None, example: str) -> dict[str, str]:
    """Parse `GOAL=VALUE` texts into goal → value; BadParameter."""
    values = {}
    for text in given or ():
        goal, equals, value = text.partition("=")
        if not (goal and equals and value):
            raise typer.BadParameter(f"{text!r} is not a goal with a value; write it as in {example}")
        values[goal] = value
    return values


def _percentile(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a percentile; give a number such as 99") from None
