"""Command `report`: a file or an experiment as one HTML page, Markdown, JSON or a picture."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from api.cli.console import out, print_json, writing
from api.cli.measured_goals import (
    GuardrailAbsoluteOption,
    GuardrailOption,
    GuardrailRuleOption,
    LessIsBetterOption,
    MeasuredGoalOption,
    measured_goals,
    with_options,
)
from api.cli.options import (
    AsJson,
    ClusterOption,
    ConfidenceOption,
    ControlOption,
    DataDir,
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
from api.report_formats import Format

EXPERIMENT: Final = "exp_"


def report(
    files: LocationsArgument,
    to: Annotated[Path, typer.Option("--out", help="File to write; one that exists is replaced.")],
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: MeasuredGoalOption = None,
    visitor: VisitorOption = None,
    cluster: ClusterOption = None,
    timestamp: TimestampOption = None,
    method: MethodOption = "frequentist",
    confidence: ConfidenceOption = 95,
    less_is_better: LessIsBetterOption = None,
    guardrail: GuardrailOption = None,
    guardrail_absolute: GuardrailAbsoluteOption = None,
    guardrail_rule: GuardrailRuleOption = "not_harmed",
    running: RunningOption = False,
    table: TableOption = None,
    sql: SqlOption = None,
    format_: Annotated[
        Format, typer.Option("--format", help="html: one page that needs no network; png: the forest plot.")
    ] = "html",
    data_dir: DataDir = Path("data/store"),
    as_json: AsJson = False,
) -> None:
    """Write the report of files or another table, or of an experiment of a store by its id, such as exp_1a2b.

    Files need no service and no store, and the options that name their columns; an experiment takes
    --data-dir, and while a service owns the store, the service writes its report.
    """
    if len(files) == 1 and files[0].startswith(EXPERIMENT) and not Path(files[0]).exists():
        from api.cli.client.stored_reports import stored_report

        _write(to, stored_report(data_dir, files[0], format_), as_json=as_json)
        return
    from api.report_files import report_content
    from engine.design.analysis_settings import Statistics
    from engine.frames.analyze import analyze_frame
    from engine.frames.rows import Columns
    from pipeline.sources.locations import find_tables
    from pipeline.sources.whole_tables import reading, scan_whole

    asked: dict[str, Any] = {
        "variant": required_variant(variant),
        "control": required_control(control),
        "goals": with_options(
            measured_goals(goal),
            guardrail=guardrail,
            guardrail_absolute=guardrail_absolute,
            guardrail_rule=guardrail_rule,
            less_is_better=less_is_better,
        ),
    }
    tables = find_tables(files, query=query_of(table, sql))
    columns = Columns(
        variant=asked["variant"], goals=asked["goals"], visitor=visitor, timestamp=timestamp, cluster=cluster
    )
    table_rows = scan_whole(
        tables, times=[timestamp] if timestamp else [], goals=asked["goals"], columns=columns.named
    )
    with reading(tables):
        analyzed = analyze_frame(
            table_rows,
            **asked,
            visitor=visitor,
            cluster=cluster,
            timestamp=timestamp,
            analysis_method=method,
            confidence_level=confidence,
            statistics=Statistics(guardrails=guardrail_rule),
            running=running,
            name=name_of(files[0]),
        )
    _write(to, report_content(analyzed, format_), as_json=as_json)


def _write(to: Path, content: bytes, *, as_json: bool) -> None:
    with writing(to):
        to.write_bytes(content)
    if as_json:
        print_json({"file": str(to), "bytes": len(content)})
    else:
        out.print(f"Wrote {to}", soft_wrap=True, markup=False, highlight=False)
