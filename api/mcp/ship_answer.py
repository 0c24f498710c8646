"""The tool `should_we_ship`: the verdict as text, and on demand the forest plot as a picture."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp_types import CallToolResult, ImageContent, TextContent, Tool
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.auth import Caller
from api.chart_pictures import PICTURES
from api.errors import INVALID, ApiError
from api.mcp.annotations import READ_ONLY
from api.mcp.calls import call, refusal
from api.mcp.guidance import WHEN
from api.mcp.ship_text import ship_text
from api.mcp.tools import ID, Operation
from api.services import Services
from engine.analysis.results.report import Report
from engine.charts.forest import chart_improvements
from engine.errors import Problem
from engine.validation.records import unknown_keys
from engine.validation.values import shown
from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiment_listings import NamedExperiment

NAME: Final = "should_we_ship"
# The operation whose permissions and checks the tool has.
OPERATION: Final = "get_results_summary"


# By which the experiment may be named; the first is described.
_NAMES: Final = ("experiment", "experiment_id", ID)
_ARGUMENTS: Final[Mapping[str, dict[str, str]]] = {
    "experiment": {"type": "string", "description": "Its name, test key or id."},
    "project_id": {"type": "string", "description": "Needed where projects have tests of one name."},
    "experiment_id": {"type": "string"},
    "picture": {"type": "boolean", "description": "With the changes as a picture."},
}
_MOST_NAMED: Final = 5


def ship_tool() -> Tool:
    """Describe the tool."""
    return Tool(
        name=NAME,
        title="Should we ship it?",
        description="Answer whether to ship, roll back, keep running or fix the data: the verdict, why, the "
        f"next step, the goals' numbers, and what is wrong with the data. {WHEN[NAME]}",
        input_schema={"type": "object", "properties": dict(_ARGUMENTS), "additionalProperties": False},
        annotations=READ_ONLY,
    )


async def answer_ship(operation: Operation, arguments: Mapping[str, Any], request: Request) -> CallToolResult:
    """Answer the tool; an error is that of the operation, as for a key that does not reach the experiment."""
    text = next((str(arguments[name]).strip() for name in _NAMES if arguments.get(name) is not None), None)
    problems = [*unknown_keys(arguments, (*_ARGUMENTS, ID), "the tool's arguments")]
    if not text:
        problems.append(Problem("experiment", "is required: its name, test key or id"))
    if problems or text is None:
        return refusal(ApiError("validation_error", INVALID, problems), request)
    services: Services = request.app.state.services
    caller, project_id = request.state.caller, arguments.get("project_id")
    try:
        place = await run_in_threadpool(_find, services.catalog, operation, caller, project_id, text)
    except ApiError as error:
        return refusal(error, request)
    checked = await call(_by_ids(operation), place, request)
    if checked.is_error:
        return checked
    report = await run_in_threadpool(_report, services, place["project_id"], place[ID])
    content: list[TextContent | ImageContent] = [TextContent(text=ship_text(report))]
    has_changes = any(one.improvement is not None for goal in report.goals for one in goal.variants)
    if arguments.get("picture") and has_changes:
        picture = await services.chart_pictures.draw(place[ID], chart_improvements(report).to_dict(), "png")
        content.append(ImageContent(data=b64encode(picture).decode(), mime_type=PICTURES["png"]))
    return CallToolResult(content=list(content))


def _by_ids(operation: Operation) -> Operation:
    """Return the operation with the ids of its path as its only arguments."""
    in_path = {name: place for name, place in operation.locations.items() if place[0] == "path"}
    return replace(operation, locations=in_path)


def _find(
    catalog: Catalog, operation: Operation, caller: Caller, project_id: str | None, text: str
) -> dict[str, str]:
    """Find the ids of the experiment that is meant; what the caller may not ask is left to the operation."""
    as_given = {"project_id": str(project_id or "unknown"), ID: text}
    if not operation.is_open_to(caller, catalog):
        return as_given
    reached = [one for one in catalog.projects.ids(caller.account.id) if caller.key.reaches(one)]
    within = reached if project_id is None else [one for one in reached if one == project_id]
    found = catalog.experiment_listings.named(within, text)
    if len(found) > 1:
        raise ApiError("validation_error", INVALID, [Problem("experiment", _several(text, found))])
    if not found and project_id is None:
        raise ApiError("not_found", f"there is no experiment {shown(text)}; list_experiments has them")
    return {"project_id": found[0].project_id, ID: found[0].id} if found else as_given


def _several(text: str, found: list[NamedExperiment]) -> str:
    named = [f"{one.name} ({one.id} of {one.project_id})" for one in found[:_MOST_NAMED]]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"{shown(text)} fits {len(found)} experiments: {'; '.join(named)}{more}. Give the id of one"


def _report(services: Services, project_id: str, experiment_id: str) -> Report:
    experiment = services.catalog.experiments.get(project_id, experiment_id)
    project = services.catalog.projects.find(project_id)
    return services.results.shared_report(experiment, project, now=utc_now())
