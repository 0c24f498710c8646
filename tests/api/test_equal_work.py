"""Every useless key takes the same work, so that the time of an answer tells nothing about it."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, event

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of


@contextmanager
def counted_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record every query, digest and comparison in order, without replacing any."""
    done: list[str] = []

    def note(step: str) -> None:
        # Background work of the service belongs to no request.
        if not threading.current_thread().name.startswith(("ThreadPoolExecutor", "rollup")):
            done.append(step)

    def note_query(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        note(statement)

    def sha256(*arguments: Any, **keywords: Any) -> Any:
        note("digest")
        return digest(*arguments, **keywords)

    def compare_digest(*arguments: Any) -> bool:
        note("comparison")
        return compare(*arguments)

    digest, compare = hashlib.sha256, hmac.compare_digest
    event.listen(Engine, "before_cursor_execute", note_query)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(hashlib, "sha256", sha256)
            patched.setattr(hmac, "compare_digest", compare_digest)
            yield done
    finally:
        event.remove(Engine, "before_cursor_execute", note_query)


@pytest.fixture
def useless(customer: Customer, services: Services) -> dict[str, str | None]:
    """Return a header for each way in which a key is useless."""
    revoked = customer.with_key()
    key = services.catalog.keys.of_account(customer.account.id)[0]
    services.catalog.keys.revoke(customer.account.id, key.id, now=datetime.now(UTC))
    head, _, secret = customer.token.rpartition("_")
    return {
        "none": None,
        "empty": "Bearer ",
        "another scheme": "Basic dXNlcjpwYXNz",
        "malformed": "Bearer nonsense",
        "malformed, long": "Bearer " + "x" * 4000,
        "too many parts": f"Bearer {customer.token}_{secret}",
        "unknown": f"Bearer svc_live_0123456789abcdef_{secret}",
        "wrong secret": f"Bearer {head}_{'0' * len(secret)}",
        "wrong environment": f"Bearer {customer.token.replace('live', 'test', 1)}",
        "revoked": f"Bearer {revoked.token}",
    }


@pytest.mark.parametrize(("method", "path"), [("GET", "/projects"), ("POST", "/account/api_keys")])
def test_every_useless_key_is_the_same_work(
    customer: Customer,
    useless: dict[str, str | None],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
) -> None:
    work = {}
    for kind, header in useless.items():
        headers = {} if header is None else {"Authorization": header}
        with counted_work(monkeypatch) as done:
            answer = customer.client.request(method, f"/api/v1{path}", headers=headers)
        error_of(answer, 401, "invalid_api_key")
        work[kind] = done
    expected = work["unknown"]
    assert expected.count("digest") == expected.count("comparison") == 1
    assert sum("api_keys" in step for step in expected) == 1
    assert {kind for kind, done in work.items() if done != expected} == set()


def test_counting_counts(customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted_work(monkeypatch) as done:
        assert customer.get("/projects").status_code == 200
    # A good key is more work: the account is looked up, and the projects.
    assert done.count("digest") >= 1
    assert sum("accounts" in step for step in done) >= 1
