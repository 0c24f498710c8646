import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from fastapi.testclient import TestClient
from sqlalchemy import Connection, event, select

from api.app import create_app
from api.services import Services
from pipeline.settings import Settings
from pipeline.store.catalog.idempotency import ANSWERED_WITHIN, Repeatable
from pipeline.store.catalog.keys import SCOPES
from pipeline.store.catalog.schema import metadata, replies
from tests.api.customers import Customer, a_customer_of
from tests.api.repeats import REPLAYED, SHOP, count, is_repeated, send
from tests.api.request_bodies import error_of


@contextmanager
def a_writer_that(services: Services, act: Callable[[], None]) -> Iterator[None]:
    """Does something in the middle of every creation of a project."""

    def on_insert(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO projects"):
            act()

    engine = services.catalog.database._backend.engine  # noqa: SLF001 - to step into a transaction from outside
    event.listen(engine, "after_cursor_execute", on_insert)
    try:
        yield
    finally:
        event.remove(engine, "after_cursor_execute", on_insert)


def test_failure_of_ours_undoes_everything_and_is_not_kept(customer: Customer, services: Services) -> None:
    def fail() -> None:
        raise RuntimeError("the disk is full")

    with a_writer_that(services, fail):
        error_of(send(customer, "POST", "/projects", json=SHOP), 500, "internal_error")
    assert count(customer) == 0
    answer = send(customer, "POST", "/projects", json=SHOP)
    assert (answer.status_code, REPLAYED in answer.headers) == (201, False)


def test_request_that_is_still_being_answered_is_told_so(customer: Customer, services: Services) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def linger() -> None:
        has_begun.set()
        may_end.wait(10)

    with a_writer_that(services, linger), ThreadPoolExecutor(1) as pool:
        slow = pool.submit(send, customer, "POST", "/projects", json=SHOP)
        has_begun.wait(10)
        # Its own answer, and that of another request with the same key.
        error_of(send(customer, "POST", "/projects", json=SHOP), 409, "idempotency_key_in_use")
        error_of(send(customer, "POST", "/projects", json={"name": "Other"}), 409, "idempotency_key_reused")
        may_end.set()
        assert slow.result().status_code == 201
    assert is_repeated(slow.result(), send(customer, "POST", "/projects", json=SHOP))
    assert count(customer) == 1


def test_twenty_at_once_create_one(customer: Customer) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: send(customer, "POST", "/projects", json=SHOP), range(20)))
    created = [answer for answer in answers if answer.status_code == 201]
    assert count(customer) == 1
    assert sum(REPLAYED not in answer.headers for answer in created) == 1
    assert len({answer.json()["data"]["id"] for answer in created}) == 1
    for answer in answers:
        if answer.status_code != 201:
            error_of(answer, 409, "idempotency_key_in_use")


def test_slow_request_that_was_taken_over_changes_nothing(customer: Customer, services: Services) -> None:
    def let_another_take_over() -> None:
        # What it would find a minute later, when the claim has expired and the request comes again.
        with services.catalog.database.write() as connection:
            connection.execute(
                replies.update()
                .where(replies.c.account_id == customer.account.id)
                .values(claim_id="clm_other")
            )

    with a_writer_that(services, let_another_take_over):
        error_of(send(customer, "POST", "/projects", json=SHOP), 409, "idempotency_key_in_use")
    assert count(customer) == 0


def test_new_keys_token_is_replayed_and_lies_sealed_in_the_catalog(
    customer: Customer, services: Services
) -> None:
    body = {"name": "CI", "scopes": ["projects:read"]}
    first = send(customer, "POST", "/account/api_keys", json=body)
    token = first.json()["data"]["token"]
    assert is_repeated(first, send(customer, "POST", "/account/api_keys", json=body))
    assert len(services.catalog.keys.of_account(customer.account.id)) == 2
    with services.catalog.database.read() as connection:
        kept = {table.name: repr(connection.execute(select(table)).all()) for table in metadata.sorted_tables}
    assert first.json()["data"]["api_key"]["id"] in kept["api_keys"]
    assert token.rpartition("_")[2] not in "".join(kept.values())


def test_secret_is_not_repeated_to_a_key_that_could_not_have_asked_for_it(customer: Customer) -> None:
    body = {"name": "CI", "scopes": list(SCOPES)}
    assert send(customer, "POST", "/account/api_keys", json=body).status_code == 201
    lesser = customer.with_key("api_keys:write")
    answer = send(lesser, "POST", "/account/api_keys", json=body)
    assert "token" not in answer.text
    error_of(answer, 403, "forbidden")
    assert send(customer.with_key(), "POST", "/account/api_keys", json=body).status_code == 201


def a_service(data_dir: Path, **settings: Any) -> TestClient:
    return TestClient(create_app(Settings.model_validate({"data_dir": data_dir, **settings})))


def test_answers_survive_a_restart_and_claims_do_not(tmp_path: Path) -> None:
    with a_service(tmp_path) as client:
        customer = a_customer_of(client)
        first = send(customer, "POST", "/projects", json=SHOP)
        # As a kill between the claim and the answer leaves it.
        with customer.services.catalog.database.write() as connection:
            connection.execute(replies.insert().values(an_abandoned_claim(connection, "order-18")))
    with a_service(tmp_path) as client:
        again = Customer(client, customer.services, customer.account, customer.token)
        assert is_repeated(first, send(again, "POST", "/projects", json=SHOP))
        assert send(again, "POST", "/projects", "order-18", json=SHOP).status_code == 201
        assert count(again) == 2


def an_abandoned_claim(connection: Connection, key: str) -> dict[str, Any]:
    """A claim to the request that was answered before, under another key."""
    row = dict(connection.execute(select(replies)).mappings().one())
    digest = Repeatable(row["account_id"], key, row["fingerprint"]).key_digest
    expires_at = datetime.now(UTC) + ANSWERED_WITHIN
    return {**row, "key_digest": digest, "sealed": None, "expires_at": expires_at}


def test_answer_sealed_with_a_key_that_is_lost_is_not_carried_out_again(tmp_path: Path) -> None:
    with a_service(tmp_path) as client:
        customer = a_customer_of(client)
        send(customer, "POST", "/projects", json=SHOP)
    with a_service(tmp_path, secrets_key=Fernet.generate_key().decode()) as client:
        again = Customer(client, customer.services, customer.account, customer.token)
        error = error_of(send(again, "POST", "/projects", json=SHOP), 409, "idempotency_key_reused")
        assert "secrets key" in error["message"]
        assert count(again) == 1
