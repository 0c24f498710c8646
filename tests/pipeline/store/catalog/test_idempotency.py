from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Delete, event, select

from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import KeyInUseError, KeyReusedError
from pipeline.store.catalog.idempotency import (
    ANSWERED_WITHIN,
    KEPT_FOR,
    Claim,
    Repeatable,
)
from pipeline.store.catalog.schema import replies

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ONE = timedelta(microseconds=1)


@pytest.fixture
def request_(account: Account) -> Repeatable:
    return Repeatable(account.id, "order-17", "f" * 64)


def claimed(catalog: Catalog, request: Repeatable, now: datetime = NOW) -> Claim:
    claim = catalog.idempotency_keys.claim(request, now=now)
    assert isinstance(claim, Claim)
    return claim


def test_first_request_is_claimed_and_the_second_waits(catalog: Catalog, request_: Repeatable) -> None:
    claimed(catalog, request_)
    with pytest.raises(KeyInUseError):
        catalog.idempotency_keys.claim(request_, now=NOW)
    assert catalog.idempotency_keys.find(request_, now=NOW) is None


def test_answer_is_kept_for_a_day_and_not_longer(catalog: Catalog, request_: Repeatable) -> None:
    catalog.idempotency_keys.keep(claimed(catalog, request_), b"sealed", now=NOW)
    last = NOW + KEPT_FOR - ONE
    assert catalog.idempotency_keys.claim(request_, now=last) == b"sealed"
    assert catalog.idempotency_keys.find(request_, now=last) == b"sealed"
    assert catalog.idempotency_keys.find(request_, now=NOW + KEPT_FOR) is None
    claimed(catalog, request_, NOW + KEPT_FOR)


@pytest.mark.parametrize("is_answered", [True, False])
def test_key_of_another_request_is_refused(catalog: Catalog, request_: Repeatable, is_answered: bool) -> None:  # noqa: FBT001 - a parameter of the test
    claim = claimed(catalog, request_)
    if is_answered:
        catalog.idempotency_keys.keep(claim, b"sealed", now=NOW)
    other = Repeatable(request_.account_id, request_.key, "0" * 64)
    with pytest.raises(KeyReusedError):
        catalog.idempotency_keys.claim(other, now=NOW)
    assert catalog.idempotency_keys.find(other, now=NOW) is None


def test_accounts_share_no_keys(catalog: Catalog, request_: Repeatable) -> None:
    stranger, _, _ = catalog.accounts.create("Stranger", "owner@stranger.example")
    claimed(catalog, request_)
    claimed(catalog, Repeatable(stranger.id, request_.key, request_.fingerprint))


def test_released_claim_can_be_made_again(catalog: Catalog, request_: Repeatable) -> None:
    catalog.idempotency_keys.release(claimed(catalog, request_))
    claimed(catalog, request_)


def test_claim_that_is_too_old_is_taken_over_and_its_answer_refused(
    catalog: Catalog, request_: Repeatable
) -> None:
    slow = claimed(catalog, request_)
    with pytest.raises(KeyInUseError):
        catalog.idempotency_keys.claim(request_, now=NOW + ANSWERED_WITHIN - ONE)
    quick = claimed(catalog, request_, NOW + ANSWERED_WITHIN)
    with pytest.raises(KeyInUseError):
        catalog.idempotency_keys.keep(slow, b"late", now=NOW + ANSWERED_WITHIN)
    catalog.idempotency_keys.release(slow)
    catalog.idempotency_keys.keep(quick, b"in time", now=NOW + ANSWERED_WITHIN)
    assert catalog.idempotency_keys.find(request_, now=NOW + ANSWERED_WITHIN) == b"in time"


def test_starting_anew_gives_claims_back_and_keeps_answers(catalog: Catalog, request_: Repeatable) -> None:
    answered = Repeatable(request_.account_id, "order-18", "f" * 64)
    claimed(catalog, request_)
    catalog.idempotency_keys.keep(claimed(catalog, answered), b"sealed", now=NOW)
    catalog.idempotency_keys.release_all()
    claimed(catalog, request_)
    assert catalog.idempotency_keys.find(answered, now=NOW) == b"sealed"


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("is_answered", [True, False])
def test_claim_that_another_makes_meanwhile_is_left_alone(
    catalog: Catalog,
    request_: Repeatable,
    is_answered: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    def look_and_lose(_connection: Connection, statement: Any, *_: Any) -> None:
        if isinstance(statement, Delete) and not event_is_over:
            event_is_over.append(True)
            with ThreadPoolExecutor(1) as other:
                claim = other.submit(claimed, catalog, request_).result()
                if is_answered:
                    other.submit(catalog.idempotency_keys.keep, claim, b"sealed", now=NOW).result()

    event_is_over: list[bool] = []
    engine = catalog.database._backend.writer  # noqa: SLF001 - to step between two statements
    event.listen(engine, "before_execute", look_and_lose)
    try:
        with pytest.raises(KeyInUseError):
            catalog.idempotency_keys.claim(request_, now=NOW)
    finally:
        event.remove(engine, "before_execute", look_and_lose)
    assert event_is_over
    assert catalog.idempotency_keys.find(request_, now=NOW) == (b"sealed" if is_answered else None)


def test_expired_answers_are_removed(catalog: Catalog, request_: Repeatable) -> None:
    catalog.idempotency_keys.keep(claimed(catalog, request_), b"sealed", now=NOW)
    assert catalog.idempotency_keys.delete_expired(now=NOW + KEPT_FOR - ONE) == 0
    assert catalog.idempotency_keys.delete_expired(now=NOW + KEPT_FOR) == 1
    with catalog.database.read() as connection:
        assert connection.execute(select(replies)).all() == []


def test_key_itself_is_not_kept(catalog: Catalog, request_: Repeatable) -> None:
    claimed(catalog, request_)
    with catalog.database.read() as connection:
        assert request_.key not in repr(connection.execute(select(replies)).all())
