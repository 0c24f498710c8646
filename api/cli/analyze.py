"""Command `analyze`: the verdict of a file."""

from typing import Annotated, Literal

import typer

from api.cli.analysis.fail_on import FailOnOption, exit_on, recommendations
from api.cli.console import out, print_json
from api.cli.measured_goals import MeasuredGoalOption, measured_goals
from api.cli.options import (
    AsJson,
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


def analyze(
    files: LocationsArgument,
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
    alternative: Annotated[
        Literal["two_sided", "one_sided"],
        typer.Option("--alternative", help="one_sided tests the wanted direction alone (frequentist)."),
    ] = "two_sided",
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            help="`spend=spend_before`: column with the value before the experiment, or a category such as a"
            " country, for CUPED. Again for further columns of the goal.",
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
        typer.Option(
            "--cap", help="`spend=99`: cap amounts, counts or values at this percentile of those above 0."
        ),
    ] = None,
    less_is_better: Annotated[
        list[str] | None,
        typer.Option("--less-is-better", help="Goal to be lowered, such as errors; may be repeated."),
    ] = None,
    guardrail: Annotated[
        list[str] | None,
        typer.Option(
            "--guardrail",
            help="`returns=2`: goal, not the first, that may lose no more than this percent of the control.",
        ),
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option(
            "--segment",
            help="Column to compare segments by, such as a country; may be repeated. They are exploratory,"
            " frequentist and two-sided, whatever the test is.",
        ),
    ] = None,
    fail_on: FailOnOption = None,
    running: RunningOption = False,
    sums: Annotated[
        bool,
        typer.Option(
            "--sums",
            help="The rows are counts and sums by variant (and day), not visitors: see docs/statistics.md.",
        ),
    ] = False,
    table: TableOption = None,
    sql: SqlOption = None,
    as_json: AsJson = False,
) -> None:
    """Analyze files or another table and print the verdict; needs no service and no store.

    Exit status 0; 3 where the recommendation is one of --fail-on.
    """
    from api.cli.analysis.document_blocks import render_document
    from api.cli.report_table import render_report
    from engine.design.analysis_settings import Statistics
    from engine.display.segment_document import document_of_segments
    from engine.frames.analyze import analyze_frame
    from engine.frames.segments import analyze_frame_segments
    from pipeline.sources.locations import find_tables
    from pipeline.sources.whole_tables import read_whole

    if variant is None:
        raise typer.BadParameter("name the column with the variant, such as --variant group")
    if segment and (covariate or orders or cap):
        raise typer.BadParameter("segments take no --covariate, --orders or --cap; leave them out")
    failing = recommendations(fail_on)
    goals = measured_goals(goal)
    tables = find_tables(files, query=query_of(table, sql))
    frame = read_whole(tables, times=[timestamp] if timestamp else [])
    rows, summed = (None, frame) if sums else (frame, None)
    named_control, lowered, name = required_control(control), less_is_better or (), name_of(files[0])
    report = analyze_frame(
        rows,
        sums=summed,
        variant=variant,
        control=named_control,
        goals=goals,
        visitor=visitor,
        timestamp=timestamp,
        less_is_better=lowered,
        analysis_method=method,
        confidence_level=confidence,
        statistics=Statistics(alternative=alternative),
        covariates=_lists_by_goal(covariate, "--covariate spend=spend_before"),
        orders=_by_goal(orders, "--orders spend=orders"),
        caps=_numbers(cap, "a percentile", "--cap spend=99"),
        guardrails=_numbers(guardrail, "a margin in percent", "--guardrail returns=2"),
        running=running,
        name=name,
    )
    segments = segment and analyze_frame_segments(
        rows,
        sums=summed,
        segments=segment,
        variant=variant,
        control=named_control,
        goals=goals,
        visitor=visitor,
        timestamp=timestamp,
        less_is_better=lowered,
        confidence_level=confidence,
        name=name,
    )
    if as_json:
        print_json({**report.to_dict(), "segments": segments.to_dict() if segments else None})
    else:
        out.print(render_report(report, means=[name for name, kind in goals.items() if kind == "mean"]))
        if segments:
            out.print(render_document(document_of_segments(segments)))
    exit_on(report, failing)


def _by_goal(given: list[str] | None, example: str) -> dict[str, str]:
    """Parse `GOAL=VALUE` texts into goal → value; BadParameter."""
    values = {}
    for text in given or ():
        goal, equals, value = text.partition("=")
        if not (goal and equals and value):
            raise typer.BadParameter(f"{text!r} is not a goal with a value; write it as in {example}")
        values[goal] = value
    return values


def _lists_by_goal(given: list[str] | None, example: str) -> dict[str, list[str]]:
    """Parse `GOAL=VALUE` texts, of which a goal may have several; BadParameter."""
    values: dict[str, list[str]] = {}
    for text in given or ():
        for goal, value in _by_goal([text], example).items():
            values.setdefault(goal, []).append(value)
    return values


def _numbers(given: list[str] | None, what: str, example: str) -> dict[str, float]:
    """Parse `GOAL=NUMBER` texts into goal → number; BadParameter."""
    numbers = {}
    for goal, text in _by_goal(given, example).items():
        try:
            numbers[goal] = float(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not {what}; write it as in {example}") from None
    return numbers
