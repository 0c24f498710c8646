"""Every route at its largest input: bounded answers, and no long work on the event loop.

Work is counted, never timed: the calls of functions that the event loop makes without a break.
"""

import asyncio
import json
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from api.app import create_app
from api.dashboard.typed_forms import COOKIE
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.dashboard.conftest import hidden_field
from tests.api.largest.largest_requests import FORM, LargestRequest, largest_requests
from tests.api.largest.loop_work import LoopWork, loop_work
from tests.api.largest.senders import READING, Senders

# A slice of a large batch of events takes 5,000 (two milliseconds), and the form of a new draft 40,000.
MOST_CALLS = 8_000
MOST_BYTES = 4 * 2**20
MOST_PROBLEMS = 5_000


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


def is_of_an_edit(request: LargestRequest) -> bool:
    """Whether it is a large form of a draft that is changed, whose reader is that of a new draft."""
    return request.route.endswith("/edit") and len(request.content) > 10_000


@pytest.mark.parametrize(
    ("are_edits", "least"), [(False, 140), pytest.param(True, 2, marks=pytest.mark.long(seconds=6))]
)
def test_every_route_at_its_largest_input_keeps_the_loop_free(
    served: tuple[TestClient, Customer], *, are_edits: bool, least: int
) -> None:
    client, customer = served
    senders = Senders(client, token=customer.token, reading_token=customer.with_key(*READING).token)
    ids = senders.created_ids()
    every = largest_requests(client.app, ids)  # type: ignore[arg-type] # typed as any ASGI app
    requests = [one for one in every if is_of_an_edit(one) == are_edits]
    assert len(requests) > least
    # Routes are built at the first request that they match.
    list(iter_route_contexts(client.app.routes))  # type: ignore[attr-defined]
    problems = []
    for request in requests:
        with loop_work(client) as work:
            status, content = senders.send(request)
        problems += [f"{request.name}: {said}" for said in judged(status, content, work)]
    assert problems == []


def test_a_large_form_of_a_session_that_ended_is_kept_off_the_loop(
    served: tuple[TestClient, Customer],
) -> None:
    client, customer = served
    path = f"{customer.a_project()}/experiments/new"
    session = client.post("/sign-in", data={"key": customer.token}).headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    seal = hidden_field(client.get(path, headers={"Cookie": session}), "seal")
    content = urlencode({"seal": seal} | dict.fromkeys(map(str, range(19_000)), ""))
    with loop_work(client) as work:
        answer = client.post(path, content=content, headers=FORM)
    client.cookies.clear()
    assert (answer.status_code, COOKIE in answer.headers["set-cookie"]) == (303, True)
    assert list(judged(answer.status_code, answer.content, work)) == []


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
