"""Stored replies: what is stored, how it is encrypted, and which requests are equal."""

import pytest
from cryptography.fernet import Fernet
from fastapi import Request, Response

from api.errors import ApiError
from api.idempotency.replies import StoredReply, fingerprint_of, is_stored
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer

SECRET = {"Cache-Control": "no-store"}


def a_request(path: str = "/api/v1/projects", query: str = "", method: str = "POST") -> Request:
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
    return Request({**scope, "server": ("testserver", 80), "scheme": "http"})


@pytest.mark.parametrize("status", [200, 201, 204, 402, 403, 404, 422])
def test_successes_and_refusals_are_stored(status: int) -> None:
    assert is_stored(status)


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_an_answer_that_the_next_try_may_change_is_not_stored(status: int) -> None:
    assert not is_stored(status)


def a_reply(customer: Customer, *scopes: str, **headers: str) -> StoredReply:
    (key,) = customer.services.catalog.keys.of_account(customer.account.id)
    answer = Response(b'{"data":1}', 201, headers or SECRET)
    return StoredReply.of(answer, "req_1", key)


def test_a_reply_is_encrypted_and_decrypted(customer: Customer) -> None:
    cipher = Fernet(Fernet.generate_key())
    reply = a_reply(customer)
    encrypted = reply.encrypt(cipher)
    assert b"data" not in encrypted
    assert StoredReply.decrypt(encrypted, cipher) == reply
    assert (reply.status, reply.headers["cache-control"], set(reply.scopes)) == (201, "no-store", set(SCOPES))


def test_a_reply_encrypted_with_another_key_is_refused(customer: Customer) -> None:
    encrypted = a_reply(customer).encrypt(Fernet(Fernet.generate_key()))
    with pytest.raises(ApiError, match="secrets key has changed") as refused:
        StoredReply.decrypt(encrypted, Fernet(Fernet.generate_key()))
    assert refused.value.code == "idempotency_key_reused"


def test_a_secret_is_replayed_to_a_key_with_the_same_scopes_only(customer: Customer) -> None:
    keys = customer.services.catalog.keys
    (full,) = keys.of_account(customer.account.id)
    reply = a_reply(customer)
    reply.require_access(full)
    customer.with_key("projects:read")
    lesser = next(key for key in keys.of_account(customer.account.id) if key.id != full.id)
    with pytest.raises(ApiError, match="this answer holds a secret"):
        reply.require_access(lesser)
    StoredReply(reply.status, {}, reply.body, reply.request_id, reply.scopes).require_access(lesser)


def test_the_order_of_members_and_parameters_makes_no_difference() -> None:
    one = fingerprint_of(a_request(query="a=1&b=2"), b'{"name":"x","url":"y"}')
    assert one == fingerprint_of(a_request(query="b=2&a=1"), b' {"url": "y", "name": "x"}')


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (a_request(query="a=1"), b'{"name":"y"}'),
        (a_request(query="a=2"), b'{"name":"x"}'),
        (a_request(path="/api/v1/account", query="a=1"), b'{"name":"x"}'),
        (a_request(query="a=1", method="PATCH"), b'{"name":"x"}'),
        (a_request(query="a=1"), b"no JSON"),
    ],
)
def test_another_method_path_query_or_body_is_another_request(request_: Request, body: bytes) -> None:
    assert fingerprint_of(request_, body) != fingerprint_of(a_request(query="a=1"), b'{"name":"x"}')
