"""Exchange of the recorded requests with a service, and its answers without what differs between runs.

`python -m tests.api.sdk.recording` records them again, which a deliberate change of an answer needs.
"""

import json
import logging
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message, Scope

from api.app import create_app
from engine.design.assignment import assign
from pipeline.settings import Settings
from tests.api.broken_catalog import a_catalog_without_projects
from tests.api.customers import Customer, a_customer_of
from tests.api.sdk.recorded_requests import (
    ACCEPTED,
    BROKEN,
    LIMITED,
    METHODS,
    PATHS,
    QUOTAS,
    RECORDED,
    REFUSED,
    STOPPED,
    UNPAID,
    RecordedRequest,
    filled,
)
from tests.api.shops import Shop

# Status, headers in order and body; the log lines; or the error that the application raised.
Answer = dict[str, Any]
# What differs between runs: ids, and the seconds left of a minute.
_VARYING: Final = (
    (re.compile(r"\b(req|vis|var|goal|chg)_[a-z0-9]{10,}"), r"\1_*"),
    (re.compile(r":\d{16}\b"), ":*"),
    (re.compile(r"\b(in|wait) \d+ s\b"), r"\1 * s"),
)
_SECONDS: Final = frozenset({"ratelimit-reset", "retry-after"})
_STORED: Final = (
    "event_id, type, visitor_id, user_id, experiment_id, event_name, value, revenue_cents, currency, "
    "transaction_id, is_refund, is_bot, traffic_source, device_type, os, country, region, browser, "
    "language, utm_source, visitor_identity, custom, sender, address_key IS NOT NULL, not_counted, "
    "header_fields"
)


@dataclass(frozen=True, slots=True)
class Service:
    """A running service, a shop of it, and the names that stand in requests."""

    client: TestClient
    app: ASGIApp
    shop: Shop
    names: Mapping[str, str]

    def answer(self, request: RecordedRequest) -> Answer:
        """Send a request to the application as the server does."""
        assert self.client.portal is not None
        return self.without_ids(self.client.portal.call(exchange, self.app, request, self.names))

    def without_ids(self, answer: Answer) -> Answer:
        """Replace what differs between runs."""
        text = json.dumps(answer)
        for name, value in self.names.items():
            text = text.replace(value, f"{{{name}}}")
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)
        found: Answer = json.loads(text)
        return found

    def answers(self, requests: Mapping[str, RecordedRequest]) -> dict[str, Answer]:
        """Send requests, one after the other."""
        return {name: self.answer(request) for name, request in requests.items()}


def the_app(client: TestClient) -> AbstractContextManager[ASGIApp]:
    """Return the application that owns the store."""
    return nullcontext(client.app)


AppOf = Callable[[TestClient], AbstractContextManager[ASGIApp]]


def all_answers(folder: Path, app_of: AppOf = the_app) -> dict[str, Answer]:
    """Send every request to a service in the state that its group needs."""
    answers: dict[str, Answer] = {}
    with a_service(folder / "usual", app_of) as service:
        answers |= service.answers(ACCEPTED)
        answers["stored events"] = service.without_ids({"rows": service.shop.stored(_STORED)})
        answers |= service.answers(REFUSED) | service.answers(METHODS) | service.answers(PATHS)
        with a_catalog_without_projects(service.shop.customer.services):
            answers |= service.answers(BROKEN)
        service.shop.customer.services.ingest.stop()
        answers |= service.answers(STOPPED)
    with a_service(folder / "limited", app_of, sdk_rate_limit_per_minute=1) as service:
        answers |= service.answers(LIMITED)
    with a_service(folder / "quotas", app_of, address_events_per_minute=3) as service:
        answers |= service.answers(QUOTAS)
    with a_service(folder / "unpaid", app_of) as service:
        customer = service.shop.customer
        customer.services.catalog.accounts.update(customer.account.id, subscription_status="unpaid")
        answers |= service.answers(UNPAID)
    return answers


@contextmanager
def a_service(folder: Path, app_of: AppOf, **settings: int | Path) -> Iterator[Service]:
    """Open a service with a shop, and another project that only its own pages may use."""
    with TestClient(create_app(Settings(data_dir=folder, **settings))) as client:  # type: ignore[arg-type]
        customer = a_customer_of(client)
        project = customer.a_project()
        shop = Shop.opened_by(customer, project, customer.an_experiment(project))
        own_hosts = customer.a_project(name="Own hosts", settings={"allowed_hosts_only": True})
        with app_of(client) as app:
            yield Service(client, app, shop, _names(customer, shop, own_hosts.rpartition("/")[2]))


def _names(customer: Customer, shop: Shop, other_id: str) -> dict[str, str]:
    return {
        "key": shop.sdk_key,
        "project": shop.project_id,
        "experiment": shop.experiment["id"],
        "variant": shop.experiment["variants"][0]["id"],
        "treated": _treated_visitor(customer, shop),
        "own_hosts_key": customer.services.catalog.projects.find(other_id).sdk_key,
        "token": customer.token,
        "reader": customer.with_key("results:read").token,
        "restricted": customer.with_key(project_ids=(other_id,)).token,
    }


def _treated_visitor(customer: Customer, shop: Shop) -> str:
    """Find a visitor of the last variant, whose answer has the changes of a page."""
    experiment = customer.services.catalog.experiments.get(shop.project_id, shop.experiment["id"])
    visitors = (f"visitor-{number:03}" for number in range(1000))
    return next(
        visitor for visitor in visitors if assign(experiment, visitor).variant == experiment.variants[-1]
    )


async def exchange(app: ASGIApp, request: RecordedRequest, names: Mapping[str, str]) -> Answer:
    """Send one request to the application; return what it sends, logs and raises."""
    unread = request.parts_of(names)
    sent: list[Message] = []

    async def receive() -> Message:
        if not unread:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": unread.pop(0), "more_body": bool(unread) or request.leaves}

    async def send(message: Message) -> None:
        # Some of it is changed after it is sent.
        sent.append({**message, "headers": list(message.get("headers", ()))})

    raised = None
    with logged() as lines:
        try:
            await app(_scope(request, names), receive, send)
        except Exception as error:  # noqa: BLE001 (recorded)
            raised = repr(error)
    return _answer(sent) | {"logged": lines} | ({"raised": raised} if raised else {})


def _scope(request: RecordedRequest, names: Mapping[str, str]) -> Scope:
    path, _, query = filled(request.target, names).partition("?")
    headers = {"host": "api.example", **request.headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": request.client,
        "scheme": "http",
        "method": request.method,
        "root_path": "",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), filled(value, names).encode()) for name, value in headers.items()],
        "state": {},
    }


def _answer(sent: list[Message]) -> Answer:
    if not sent:
        return {}
    start, *parts = sent
    assert [part["type"] for part in parts] == ["http.response.body"]
    return {
        "status": start["status"],
        "headers": [
            [name.decode(), "*" if name.decode() in _SECONDS and value != b"1" else value.decode()]
            for name, value in start["headers"]
            # The seconds that are left have one digit or two.
            if name != b"content-length" or start["status"] != 429
        ],
        "body": parts[0].get("body", b"").decode(),
    }


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collect the log lines of the API."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(  # type: ignore[method-assign]
        f"{record.levelname} {record.name}: {record.getMessage()}"
    )
    logger = logging.getLogger("api")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def written(answers: Mapping[str, Answer]) -> str:
    """Write answers as JSON, each on a line of its own."""
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        RECORDED.write_text(written(all_answers(Path(temporary))))
