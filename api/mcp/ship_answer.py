"""The tool `should_we_ship`: the verdict as text, and the forest plot as a picture."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp_types import CallToolResult, ImageContent, TextContent, Tool
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.chart_pictures import PICTURES
from api.mcp.annotations import READ_ONLY
from api.mcp.calls import call
from api.mcp.guidance import WHEN
from api.mcp.tools import ID, Operation
from api.services import Services
from engine.analysis.results.report import Report
from engine.charts.forest import chart_improvements
from engine.display.document import Document
from engine.display.markdown_text import markdown_of
from engine.display.report_document import goal_table, health_notes, primary_first, verdict_card
from pipeline.clock import utc_now

NAME: Final = "should_we_ship"
# The operation whose permissions and checks the tool has.
OPERATION: Final = "get_results_summary"


def ship_tool(operation: Operation) -> Tool:
    """Describe the tool, whose arguments are the ids of the operation that it goes through."""
    ids = {
        argument: {"type": "string"}
        for argument, (location, _) in operation.locations.items()
        if location == "path"
    }
    return Tool(
        name=NAME,
        title="Should we ship it?",
        description="Answer whether to ship, roll back, keep running or fix the data: the verdict, why, the "
        f"next step, every goal's numbers, what is wrong with the data, and a picture. {WHEN[NAME]}",
        input_schema={
            "type": "object",
            "properties": ids,
            "required": list(ids),
            "additionalProperties": False,
        },
        annotations=READ_ONLY,
    )


async def answer_ship(operation: Operation, arguments: Mapping[str, Any], request: Request) -> CallToolResult:
    """Answer the tool; an error is that of the operation, as for a key that does not reach the experiment."""
    ids = replace(
        operation,
        locations={name: place for name, place in operation.locations.items() if place[0] == "path"},
    )
    checked = await call(ids, arguments, request)
    if checked.is_error:
        return checked
    found = {ids.place_of(name)[1]: str(value) for name, value in arguments.items()}
    services: Services = request.app.state.services
    report = await run_in_threadpool(_report, services, found["project_id"], found[ID])
    content: list[TextContent | ImageContent] = [TextContent(text=markdown_of(_document(report)))]
    if any(variant.improvement is not None for goal in report.goals for variant in goal.variants):
        picture = await services.chart_pictures.draw(chart_improvements(report).to_dict(), "png")
        content.append(ImageContent(data=b64encode(picture).decode(), mime_type=PICTURES["png"]))
    return CallToolResult(content=list(content))


def _report(services: Services, project_id: str, experiment_id: str) -> Report:
    experiment = services.catalog.experiments.get(project_id, experiment_id)
    project = services.catalog.projects.find(project_id)
    return services.results.shared_report(experiment, project, now=utc_now())


def _document(report: Report) -> Document:
    """Build the verdict card, the goals' tables, and the health checks that it does not name already."""
    card = verdict_card(report)
    said = "" if report.primary is None else report.primary.decision.explanation
    tables = [goal_table(goal, report) for goal in primary_first(report)]
    open_checks = tuple(check for check in report.health if check.is_open and check.message not in said)
    notes = [health_notes(replace(report, health=open_checks))] if open_checks else []
    return Document(summary=(), blocks=(*([card] if card else []), *notes, *tables))
