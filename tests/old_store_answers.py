"""Answers over the store that version 0.1 wrote."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlencode

import httpx2
import polars as pl
from fastapi.testclient import TestClient

from api.schemas.results import Results
from engine.frames.analyze import analyze_frame
from pipeline.results.filters import SegmentFilters
from pipeline.snapshots.reader import Snapshot, open_snapshot
from tests.old_store import TABLE, ask, facts, served, truelift, unpack
from tests.stored_answers import Answers

# Fields that differ from one request to the next.
VOLATILE: Final = frozenset({"request_id", "last_used_at"})
# Wording of schemas, which may change without changing what a tool takes.
WORDING: Final = frozenset({"description", "title"})
MCP_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
REPEATED_REQUEST: Final = {"baseline_rate": 5, "effect": 10}

# Query strings of filtered results, by the test key of the experiment.
ONE_FILTER: Final = {"device_type": "mobile"}
TWO_FILTERS: Final = {"country": "US", "browser": "Chrome"}
CUSTOM_FILTER: Final = {"custom_dimension_key": "plan", "custom_dimension_value": "pro"}
UTM_FILTERS: Final = {"utm_source": "newsletter", "visitor_type": "returning"}
MAIN_FILTERS: Final[tuple[dict[str, str], ...]] = ({}, ONE_FILTER, TWO_FILTERS, CUSTOM_FILTER, UTM_FILTERS)
OTHER_FILTERS: Final[tuple[dict[str, str], ...]] = ({}, TWO_FILTERS)
MAIN_EXPERIMENT: Final = "checkout"

ANALYSES: Final = (
    (),
    ("--covariate", "spend=spend_before"),
    ("--orders", "spend=orders"),
    ("--cap", "spend=95", "--method", "bayesian", "--confidence", "90"),
)
SERVICE_PATHS: Final = (
    "/account",
    "/account/members",
    "/account/usage",
    "/account/api_keys",
    "/capabilities/experiment_types",
    "/capabilities/goal_types",
    "/capabilities/lifecycle",
    "/capabilities/targeting_fields",
    "/capabilities/visual_change_actions",
    "/projects",
    "/projects?page=2&per_page=1",
    "/projects/{project}",
    "/projects/{project}/installation",
    "/projects/{project}/stats",
    "/projects/{project}/experiments",
    "/projects/{project}/experiments?page=2&per_page=3",
    "/projects/{project}/experiments?status=running",
    "/projects/{project}/experiments?status=archived",
    # Errors, with their codes and words.
    "/projects/prj_unknown",
    "/projects/{project}/experiments/exp_unknown/results",
    "/projects/{project}/experiments/{checkout}/results?device_type=watch&custom_dimension_key=plan",
    "/projects/{project}/experiments?status=unknown&page=0",
)


def service_answers(client: TestClient) -> Answers:
    """The account, its keys, the project, the capabilities, the operations and the tools."""
    names = {"project": facts()["project"], **facts()["experiments"]}
    paths = {path: path.format(**names) for path in SERVICE_PATHS}
    return {
        **{label: _answer(ask(client, "GET", path)) for label, path in paths.items()},
        "operations": operations(client.get("/openapi.json").json()),
        "tools": tools(client),
    }


def experiment_answers(client: TestClient) -> dict[str, Answers]:
    """Every read of every experiment, by its test key."""
    return {
        key: {"experiment": _answer(ask(client, "GET", _path(key))), **result_answers(client, key)}
        for key in facts()["experiments"]
    }


def result_answers(client: TestClient, key: str) -> Answers:
    """Every read of the results of one experiment, by its path and query."""
    return {query: read_results(client, key, query) for query in _queries(key)}


def recounted_answers(client: TestClient, key: str) -> Answers:
    """The reads of one experiment that between them show every number, by path and query."""
    wanted = {"/results", "/results/segments", _query("/results/export", format="csv")}
    if key == MAIN_EXPERIMENT:
        wanted |= {_query("/results", **TWO_FILTERS), _query("/results/segments", dimension="country")}
    return {query: read_results(client, key, query) for query in _queries(key) if query in wanted}


def read_results(client: TestClient, key: str, query: str = "/results") -> Answers:
    """One read of the results of an experiment."""
    response = ask(client, "GET", _path(key) + query)
    return _table_answer(response.text) if query.startswith("/results/export") else _answer(response)


def _queries(key: str) -> Iterator[str]:
    is_main = key == MAIN_EXPERIMENT
    for filters in MAIN_FILTERS if is_main else OTHER_FILTERS:
        yield _query("/results", **filters)
    yield _query("/results/summary", **(TWO_FILTERS if is_main else {}))
    yield _query("/results/timeseries", **(UTM_FILTERS if is_main else {}))
    goals = facts()["goals"][key]
    # Revenue, revenue per order and a value of an event.
    for goal in (goals[1], goals[3], goals[7]) if is_main else ():
        yield _query("/results/timeseries", goal_id=goal)
    yield from _segment_queries(goals) if is_main else ("/results/segments",)
    for filters in ({}, TWO_FILTERS) if is_main else ({},):
        yield _query("/results/export", format="csv", **filters)


def _segment_queries(goals: Sequence[str]) -> Iterator[str]:
    # The whole answer about the main experiment has half a megabyte.
    for goal in (goals[0], goals[3]):
        yield _query("/results/segments", goal_id=goal)
    yield _query("/results/segments", dimension="country")
    yield _query("/results/segments", dimension="custom:plan", goal_id=goals[1])


def _path(key: str) -> str:
    return f"/projects/{facts()['project']}/experiments/{facts()['experiments'][key]}"


def _query(path: str, **parameters: str) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


def operations(document: Mapping[str, Any]) -> Answers:
    """The operations of an OpenAPI document: ids, parameters, statuses and security."""
    return {
        f"{method.upper()} {path}": {
            "operation_id": operation["operationId"],
            "parameters": [f"{one['in']} {one['name']}" for one in operation.get("parameters", [])],
            "statuses": sorted(operation["responses"]),
            "security": operation.get("security"),
        }
        for path, methods in sorted(document["paths"].items())
        for method, operation in sorted(methods.items())
    }


def tools(client: TestClient) -> Answers:
    """The input schema of each MCP tool, by its name, without wording."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = client.post(f"/mcp/{facts()['token']}/v2/mcp", json=body, headers=MCP_HEADERS)
    listed = answer.json()["result"]["tools"]
    return {tool["name"]: _without_wording(tool["inputSchema"]) for tool in listed}


def _without_wording(schema: Any, *, names_fields: bool = False) -> Any:
    if isinstance(schema, list):
        return [_without_wording(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # Below `properties`, keys are names of fields, and a field may be named `title`.
    return {
        key: _without_wording(value, names_fields=key in {"properties", "$defs"} and not names_fields)
        for key, value in schema.items()
        if names_fields or key not in WORDING
    }


def assignment_answers(client: TestClient) -> Answers:
    """The variants of visitors whose assignment is stored, and of visitors who are new.

    Asking stores the assignments of new visitors.
    """
    known, browser = facts()["assigned_visitors"][:10], {"X-SDK-Key": facts()["sdk_key"]}
    fresh = [f"fresh-{number:02d}" for number in range(10, 20)]
    found = {}
    for visitor in [*known, *fresh]:
        body = {"visitor_id": visitor, "url": "https://shop.example/", "attributes": {"country": "US"}}
        answer = client.post("/api/v1/sdk/init", json=body, headers=browser).json()
        found[visitor] = {one["test_key"]: _assignment(one) for one in answer["assignments"]}
    return {"last_visitor": normalized(answer), **found}


def _assignment(shown: Mapping[str, Any]) -> Answers:
    return {name: shown[name] for name in ("variant_name", "status", "reason")}


def repeated_answer(client: TestClient) -> Answers:
    """The answer to a request that was made before with the same idempotency key."""
    headers = {"Idempotency-Key": facts()["idempotency_key"]}
    answer = ask(client, "POST", "/tools/sample_size", json=REPEATED_REQUEST, headers=headers)
    return {**_answer(answer), "replayed": answer.headers.get("Idempotent-Replayed")}


def command_answers() -> Answers:
    """The lines that `truelift analyze` prints for a file."""
    named = ("analyze", TABLE, "--variant", "group", "--control", "A", "--goal", "converted")
    return {
        " ".join(options) or "plain": _printed(truelift(*named, "--goal", "spend:revenue", *options))
        for options in ANALYSES
    }


def _printed(text: str) -> Answers:
    """Tables, whose lines are indented, apart from the sentences around them."""
    lines = [line.rstrip() for line in text.splitlines()]
    return {
        "table": [line for line in lines if line.startswith(" ")],
        "text": "\n".join(line for line in lines if line and not line.startswith(" ")),
    }


def snapshot_answers(folder: Path) -> Answers:
    """What a snapshot holds, and the verdict on each of its experiments with both variants seen."""
    snapshot = open_snapshot(folder)
    listed = snapshot.experiments.drop("as_of").to_dicts()
    return {
        "project": {"id": snapshot.project_id, "name": snapshot.project_name},
        "experiments": listed,
        "events": _frame_answer(snapshot.events().collect()),
        **{f"{row['name']}": _snapshot_experiment(snapshot, row["id"]) for row in listed},
    }


def _snapshot_experiment(snapshot: Snapshot, experiment_id: str) -> Answers:
    visitors = snapshot.visitors(experiment_id)
    report = analyze_frame(visitors, **snapshot.analysis(experiment_id))
    return {
        "visitors": _frame_answer(visitors.collect()),
        "orders": _frame_answer(snapshot.orders(experiment_id).collect()),
        "aggregates": _frame_answer(snapshot.aggregates(experiment_id).collect()),
        "verdict": json.loads(Results.of(report, {}, SegmentFilters()).model_dump_json()),
    }


def _frame_answer(frame: pl.DataFrame) -> Answers:
    """The number of rows, and of each column its type, distinct values, nulls and sum."""
    return {
        "rows": frame.height,
        "columns": {
            column.name: {
                "type": str(column.dtype),
                "distinct": column.n_unique(),
                "nulls": column.null_count(),
                "sum": _sum(column),
            }
            for column in frame.iter_columns()
        },
    }


def _sum(column: pl.Series) -> float | str | None:
    # Keys and wide integers add up beyond 64 bits.
    if column.dtype.is_integer():
        return str(sum(column.drop_nulls().to_list()))
    return float(column.sum()) if column.dtype.is_float() else None


def _answer(response: httpx2.Response) -> Answers:
    return {"status": response.status_code, "body": normalized(response.json())}


def _table_answer(text: str) -> Answers:
    """A digest of all lines, and the first ones in full."""
    lines = text.splitlines()
    return {
        "lines": len(lines),
        "sha256": sha256("\n".join(lines).encode()).hexdigest(),
        "first": lines[:6],
    }


def normalized(body: Any) -> Any:
    """The same body with a fixed text in the place of each volatile field that has a value."""
    if isinstance(body, list):
        return [normalized(item) for item in body if not _is_of_night(item)]
    if not isinstance(body, dict):
        return body
    return {
        key: "volatile" if key in VOLATILE and value is not None else normalized(value)
        for key, value in body.items()
    }


def _is_of_night(item: Any) -> bool:
    """Tell whether a health check is that of the last night, which a job may make while answers are read."""
    return isinstance(item, dict) and item.get("check") == "interacting_tests"


def all_answers() -> dict[str, Answers]:
    """Every answer of this version over the stored store, by the name of its file."""
    with TemporaryDirectory() as folder:
        data_dir = unpack(Path(folder))
        snapshot = snapshot_answers(data_dir / "snapshots")
        with served(data_dir) as client:
            return {
                "service": service_answers(client),
                **experiment_answers(client),
                "assignments": assignment_answers(client),
                "repeated_request": repeated_answer(client),
                "snapshot": snapshot,
                "command_line": command_answers(),
            }
