"""Every route at its largest input: bounded answers, and no long work on the event loop.

Work is counted, never timed: the calls of functions that the event loop makes without a break.
"""

import asyncio
import json
from collections.abc import Iterator

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.dashboard.conftest import form_token
from tests.api.largest.largest_requests import LargestRequest, largest_requests
from tests.api.largest.loop_work import LoopWork, loop_work
from tests.api.request_bodies import an_experiment_body

# A slice of a large batch of events takes 5,000 (two milliseconds), and the form of a new draft 40,000.
MOST_CALLS = 8_000
MOST_BYTES = 4 * 2**20
MOST_PROBLEMS = 5_000


def large_experiment(name: str, changes: int) -> dict[str, object]:
    """An experiment with as many goals, pages and conditions as there can be."""
    change = {"selector": "h1", "action": "modify_text", "value": "x" * 10}
    condition = {"field": "custom_dimension", "key": "plan", "operator": "regex", "values": ["(a+)+$"]}
    return an_experiment_body(
        name=name,
        variants=[
            {"name": f"V{number}", "is_control": number == 0, "changes": [change] * changes}
            for number in range(20)
        ],
        goals=[
            {"name": f"G{number}", "goal_type": "custom_event", "config": {"event_name": f"e{number}"}}
            for number in range(50)
        ],
        url_rules=[{"type": "include", "match_type": "contains", "value": "/"}] * 100,
        targeting_rules={"version": 2, "root": {"operator": "or", "children": [condition] * 499}},
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Customer]]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60, refresh_seconds=10**6
    )
    local = ("127.0.0.1", 50_000)
    with TestClient(create_app(settings), client=local, follow_redirects=False) as client:
        customer = a_customer_of(client)
        customer.services.catalog.accounts.update(customer.account.id, rate_limit=10**6, max_projects=10**6)
        yield client, customer


class Senders:
    """A key, a public key, and two browsers, on the one event loop of a client."""

    def __init__(self, client: TestClient, customer: Customer, project: str) -> None:
        self.client = client
        self.sdk_key = customer.data_of(f"{project}/installation")["api_key"]
        reader = customer.with_key("projects:read", "experiments:read", "results:read", "account:read")
        self.headers = {
            "key": {"Authorization": f"Bearer {customer.token}"},
            "page": {"X-SDK-Key": self.sdk_key, "X-API-Key": self.sdk_key},
        }
        self.tokens = {"browser": customer.token, "reader": reader.token}
        self.form_tokens = dict[str, str]()

    def send(self, request: LargestRequest) -> tuple[int, bytes]:
        if request.sender in self.tokens and request.sender not in self.form_tokens:
            self._sign_in(request.sender)
        content = request.content
        if content and (token := self.form_tokens.get(request.sender)):
            content = f"form_token={token}&".encode() + content
        headers = {**request.headers, **self.headers[request.sender]}
        answer = self.client.request(request.method, request.path, headers=headers, content=content)
        self.client.cookies.clear()
        if request.path in {"/sign-in", "/sign-out"}:
            # The session may have ended.
            self.form_tokens.pop(request.sender, None)
        return answer.status_code, answer.content

    def _sign_in(self, sender: str) -> None:
        answer = self.client.post("/sign-in", data={"key": self.tokens[sender]})
        self.client.cookies.clear()
        self.headers[sender] = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        self.form_tokens[sender] = form_token(self.client.get("/", headers=self.headers[sender]))
        assert self.form_tokens[sender]


def test_every_route_at_its_largest_input_keeps_the_loop_free(
    served: tuple[TestClient, Customer],
) -> None:
    client, customer = served
    project = customer.a_project()
    # Of the first, the form would be larger than a page may be.
    paths = [customer.an_experiment(project, **large_experiment("Large", changes)) for changes in (250, 50)]
    assert customer.post(f"{paths[0]}/start").status_code == 200
    senders = Senders(client, customer, project)
    ids = {
        "project": project.rpartition("/")[2],
        "project_id": project.rpartition("/")[2],
        "experiment": paths[0].rpartition("/")[2],
        "draft": paths[1].rpartition("/")[2],
        "sdk_key": senders.sdk_key,
        "name": "dashboard.css",
        "chart": "improvements",
        "theme": "light",
        "form": "json",
    }
    requests = list(largest_requests(client.app, ids))  # type: ignore[arg-type] # typed as any ASGI app
    assert len(requests) > 150
    # Routes are built at the first request that they match.
    list(iter_route_contexts(client.app.routes))  # type: ignore[attr-defined]
    problems = []
    for request in requests:
        with loop_work(client) as work:
            status, content = senders.send(request)
        problems += [f"{request.name}: {said}" for said in judged(status, content, work)]
    assert problems == []


def judged(status: int, content: bytes, work: LoopWork) -> Iterator[str]:
    """Say what of an answer, and of the work for it, is beyond the bounds."""
    if status >= 500:
        yield f"{status}"
    if len(content) > MOST_BYTES:
        yield f"{len(content):,} bytes"
    if work.longest > MOST_CALLS:
        yield f"{work.longest:,} calls on the loop, of {work.names.most_common(3)}"
    if status == 422 and content.startswith(b"{"):
        details = json.loads(content)["error"].get("details", ())
        if len(details) > MOST_PROBLEMS:
            yield f"{len(details):,} problems"


def test_work_is_counted_on_the_loop_and_not_in_threads(served: tuple[TestClient, Customer]) -> None:
    client, _ = served
    assert client.portal is not None

    def work() -> None:
        for _ in range(MOST_CALLS):
            len("")

    async def in_thread() -> None:
        await asyncio.to_thread(work)

    async def on_loop() -> None:
        work()

    with loop_work(client) as free:
        client.portal.call(in_thread)
    with loop_work(client) as held:
        client.portal.call(on_loop)
    assert free.longest < MOST_CALLS / 10
    assert list(judged(200, b"", free)) == []
    assert held.longest >= MOST_CALLS
    assert list(judged(200, b"", held)) != []
