"""Command `analyze`: the verdict of a file."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from api.cli.analysis.fail_on import FailOnOption, exit_on, recommendations
from api.cli.console import out, print_json
from api.cli.measured_goals import (
    CapOption,
    CovariateOption,
    GuardrailAbsoluteOption,
    GuardrailOption,
    GuardrailRuleOption,
    LessIsBetterOption,
    MeasuredGoalOption,
    OrdersOption,
    measured_goals,
    with_options,
)
from api.cli.options import (
    AsJson,
    ClusterOption,
    ConfidenceOption,
    ControlOption,
    LocationsArgument,
    MethodOption,
    RunningOption,
    SqlOption,
    TableOption,
    TimestampOption,
    VariantOption,
    VisitorOption,
    name_of,
    query_of,
    required_control,
    required_variant,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.analysis.results.report import Report
    from engine.analysis.results.segment_report import SegmentReport
    from engine.frames.frame_goal import FrameGoal

AlternativeOption = Annotated[
    Literal["two_sided", "one_sided"],
    typer.Option("--alternative", help="one_sided tests the wanted direction alone (frequentist)."),
]
SegmentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--segment",
        help="Column to compare segments by, such as a country; may be repeated. They are exploratory,"
        " frequentist and two-sided, whatever the test is.",
    ),
]
SumsOption = Annotated[
    bool,
    typer.Option(
        "--sums",
        help="The rows are counts and sums by variant (and day), not visitors: see docs/statistics.md.",
    ),
]


def analyze(
    files: LocationsArgument,
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: MeasuredGoalOption = None,
    visitor: VisitorOption = None,
    cluster: ClusterOption = None,
    timestamp: TimestampOption = None,
    method: MethodOption = "frequentist",
    confidence: ConfidenceOption = 95,
    alternative: AlternativeOption = "two_sided",
    covariate: CovariateOption = None,
    orders: OrdersOption = None,
    cap: CapOption = None,
    less_is_better: LessIsBetterOption = None,
    guardrail: GuardrailOption = None,
    guardrail_absolute: GuardrailAbsoluteOption = None,
    guardrail_rule: GuardrailRuleOption = "not_harmed",
    segment: SegmentOption = None,
    fail_on: FailOnOption = None,
    running: RunningOption = False,
    sums: SumsOption = False,
    table: TableOption = None,
    sql: SqlOption = None,
    as_json: AsJson = False,
) -> None:
    """Analyze files or another table and print the verdict; needs no service and no store.

    Exit status 0; 3 where the recommendation is one of --fail-on.
    """
    from engine.design.analysis_settings import Statistics
    from engine.frames.analyze import analyze_frame
    from engine.frames.rows import Columns
    from engine.frames.segments import analyze_frame_segments
    from pipeline.sources.locations import find_tables
    from pipeline.sources.whole_tables import reading, scan_whole

    if segment and (covariate or orders or cap or cluster):
        raise typer.BadParameter("segments take no --covariate, --orders, --cap or --cluster; leave them out")
    failing = recommendations(fail_on)
    goals = with_options(
        measured_goals(goal),
        covariate=covariate,
        orders=orders,
        cap=cap,
        guardrail=guardrail,
        guardrail_absolute=guardrail_absolute,
        guardrail_rule=guardrail_rule,
        less_is_better=less_is_better,
    )
    asked: dict[str, Any] = {
        "variant": required_variant(variant),
        "control": required_control(control),
        "goals": goals,
        "visitor": visitor,
        "timestamp": timestamp,
        "confidence_level": confidence,
        "name": name_of(files[0]),
    }
    columns = Columns(
        variant=asked["variant"], goals=goals, visitor=visitor, timestamp=timestamp, cluster=cluster
    )
    tables = find_tables(files, query=query_of(table, sql))
    asked["sums" if sums else "df"] = scan_whole(
        tables,
        times=[timestamp] if timestamp else [],
        goals=goals,
        columns=None if sums else [*columns.named, *(segment or [])],
    )
    with reading(tables):
        report = analyze_frame(
            **asked,
            cluster=cluster,
            analysis_method=method,
            statistics=Statistics(alternative=alternative, guardrails=guardrail_rule),
            running=running,
        )
        segments = analyze_frame_segments(**asked, segments=segment) if segment else None
    _print(report, segments, goals, as_json=as_json)
    exit_on(report, failing)


def _print(
    report: "Report",
    segments: "SegmentReport | None",
    goals: "Mapping[str, FrameGoal]",
    *,
    as_json: bool,
) -> None:
    from api.cli.analysis.document_blocks import render_document
    from api.cli.report_table import render_report
    from engine.display.segment_document import document_of_segments
    from engine.frames.kinds import Mean

    if as_json:
        print_json({**report.to_dict(), "segments": segments.to_dict() if segments else None})
        return
    out.print(render_report(report, means=[name for name, kind in goals.items() if isinstance(kind, Mean)]))
    if segments:
        out.print(render_document(document_of_segments(segments)))
