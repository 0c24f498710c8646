"""Doors through which a person could be read: REST, MCP, the dashboard and what browsers load."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import httpx2
from fastapi.testclient import TestClient
from starlette.routing import Route

from api.dashboard.charts import CHARTS
from api.dashboard.routes import ROUTES
from api.mcp.ship_answer import NAME
from tests.api.customers import Customer, a_browser
from tests.api.erasure.marked_person import Marked
from tests.api.mcp.assistants import HEADERS, LIST_TOOLS
from tests.builders import NOW

VIEWS: Final[tuple[dict[str, str], ...]] = ({}, {"as_of": NOW.date().isoformat()})
# Of exports, which are of no night.
FORMS: Final[tuple[dict[str, str], ...]] = ({"format": "csv"}, {"format": "ndjson"}, {"format": "parquet"})
# Ids by which a tool answers of something else.
ASKING: Final = ("group_id", "holdout_id")
Read = tuple[str, httpx2.Response]


def answers(marked: Marked, customer: Customer) -> dict[str, bytes]:
    """Read everything that can be read, by the door and the address, with the headers of each answer."""
    ids = _ids(marked, customer)
    doors = {
        "REST": _operations(customer, ids),
        "MCP": _tools(customer, ids),
        "dashboard": _pages(marked, customer, ids),
        "browser": _scripts(marked, customer),
    }
    read = {}
    for door, found in doors.items():
        for name, answer in found:
            # A filter of another view, a job of a stopped test: refusals are read as well.
            assert answer.status_code < 500, (name, answer.text)
            read[f"{door} {name}"] = answer.content
            read[f"{door} {name} headers"] = str(answer.headers).encode()
    return read


def _ids(marked: Marked, customer: Customer) -> dict[str, list[str]]:
    """Map the names of ids in paths to those of everything that the account has."""
    project = f"/projects/{marked.project.id}"
    listed = {
        "webhook_id": f"{project}/webhooks",
        "notification_channel_id": f"{project}/notification_channels",
        "run_id": f"{project}/runs?kind=import",
        "metric_id": f"{project}/metrics",
        "group_id": f"{project}/groups",
        "holdout_id": f"{project}/holdouts",
        "experiment_id": f"{project}/experiments",
        "member_id": "/account/members",
        "key_id": "/account/api_keys",
    }
    ids = {name: [one["id"] for one in _data(customer, path)] for name, path in listed.items()}
    assert {marked.completed.id, marked.running.id} < {*ids["experiment_id"]}
    return {**ids, "project_id": [marked.project.id]}


def _data(customer: Customer, path: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = customer.call("GET", path).json()["data"]
    return data


def _operations(customer: Customer, ids: dict[str, list[str]]) -> Iterator[Read]:
    for path, operations in customer.client.get("/openapi.json").json()["paths"].items():
        if "get" in operations and not path.startswith(("/sdk/", "/api/v1/sdk/")):
            before = path.partition("/{id}")[0].rpartition("/")[2].removesuffix("s")
            named = path.replace("{id}", f"{{{before}_id}}")
            queries = FORMS if path.endswith("/export") else VIEWS if "/results" in path else VIEWS[:1]
            for address in _filled(named, ids):
                for query in queries:
                    answer = customer.call("GET", address.removeprefix("/api/v1"), params=query)
                    yield f"{address} {query}", answer


def _filled(path: str, ids: dict[str, list[str]]) -> list[str]:
    """Fill the ids of a path in, in every way."""
    names = [name for name in ids if f"{{{name}}}" in path]
    chosen = product(*(ids[name] for name in names))
    return [path.format(**dict(zip(names, values, strict=True))) for values in chosen]


def _tools(customer: Customer, ids: dict[str, list[str]]) -> Iterator[Read]:
    """Call every tool that only reads, as a client without a library does."""
    address = f"/mcp/{customer.token}/v2/mcp"

    def send(method: str, **params: Any) -> httpx2.Response:
        message = LIST_TOOLS | {"method": method, "params": params}
        return customer.client.post(address, json=message, headers=HEADERS)

    listed = send("tools/list")
    yield "list", listed
    tools = [one for one in _result(listed)["tools"] if one["annotations"].get("readOnlyHint")]
    assert NAME in {one["name"] for one in tools}
    assert len(tools) > 20
    for tool in tools:
        given = [name for name in tool["inputSchema"]["properties"] if name in ids]
        own = [name for name in given if name not in ASKING]
        for names in (own, *([*own, name] for name in given if name in ASKING)):
            for values in product(*(ids[name] for name in names)):
                arguments = dict(zip(names, values, strict=True))
                yield (
                    f"{tool['name']} {arguments}",
                    send("tools/call", name=tool["name"], arguments=arguments),
                )


def _result(answer: httpx2.Response) -> dict[str, Any]:
    text = answer.text
    if not text.startswith("{"):
        # A stream of events has each message on a line of its own.
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    result: dict[str, Any] = json.loads(text)["result"]
    return result


def _pages(marked: Marked, customer: Customer, ids: dict[str, list[str]]) -> Iterator[Read]:
    """Read every page and file of the dashboard in a browser that is signed in."""
    assert isinstance(customer.client, TestClient)
    browser = a_browser(customer.client, raise_server_exceptions=False, follow_redirects=True)
    assert browser.post("/sign-in", data={"key": customer.token}).status_code == 200
    links = [
        customer.post(f"/projects/{marked.project.id}/experiments/{one}/share_links", {"shows_money": True})
        for one in (marked.completed.id, marked.running.id)
    ]
    tokens = [link.json()["data"]["url"].rpartition("/")[2] for link in links]
    known = {**ids, "step": ["complete"], "chart": [*CHARTS], "theme": ["light"], "form": ["json"]}
    known["token"] = tokens
    paths = [route.path for route in ROUTES if isinstance(route, Route) and "GET" in (route.methods or ())]
    left_out = {path for path in paths if path.startswith(("/sign-in", "/static/"))}
    assert len(left_out) == 3
    for path in sorted({*paths} - left_out):
        kind = path.partition("/{item_id}")[0].rpartition("/")[2].removesuffix("s")
        for address in _filled(path.replace("{item_id}", f"{{{kind}_id}}"), known):
            for query in ("", "?format=csv", "?format=parquet") if path.endswith("/export") else ("",):
                yield f"{address}{query}", browser.get(f"{address}{query}")
            if path.endswith("/export"):
                yield f"HEAD {address}", browser.head(address)


def _scripts(marked: Marked, customer: Customer) -> Iterator[Read]:
    """Read what browsers and servers load to decide."""
    key = marked.project.sdk_key
    public = {"X-SDK-Key": key}
    yield "config", customer.client.get("/api/v1/sdk/config", headers=public)
    yield "server's config", customer.call("GET", "/sdk/config", params={"project_id": marked.project.id})
    for name in (f"{key}.js", f"{key}/preview.js", f"{key}/{marked.running.id}.js"):
        yield name, customer.client.get(f"/sdk/v1/{name}")
