"""The outbox: bounded, in order, and an event leaves it by the verdict alone."""

import pytest

from truelift.client.outbox import MAX_BATCH, MAX_BATCH_BYTES, MAX_EVENT_BYTES, Outbox


def an_event(number: int, text: str = "") -> dict[str, str]:
    return {"event_id": f"e{number}", "text": text}


def test_events_stay_until_they_are_settled() -> None:
    outbox = Outbox()
    for number in range(3):
        assert outbox.add(an_event(number))
    assert list(outbox.batch()) == list(outbox.batch()) == ["e0", "e1", "e2"]
    outbox.settle(["e1", "e9"])
    assert list(outbox.batch()) == ["e0", "e2"]
    assert len(outbox) == 2


def test_an_event_that_comes_meanwhile_is_not_settled_with_the_others() -> None:
    outbox = Outbox()
    outbox.add(an_event(1))
    sent = outbox.batch()
    outbox.add(an_event(2))
    outbox.settle(sent)
    assert list(outbox.batch()) == ["e2"]


def test_a_full_outbox_refuses_what_is_new_and_counts_it() -> None:
    outbox = Outbox(capacity=2)
    assert [outbox.add(an_event(number)) for number in range(4)] == [True, True, False, False]
    assert outbox.refused == 2
    assert list(outbox.batch()) == ["e0", "e1"]


def test_a_batch_has_a_most_of_events() -> None:
    outbox = Outbox()
    for number in range(MAX_BATCH + 1):
        outbox.add(an_event(number))
    assert len(outbox.batch()) == MAX_BATCH


def test_a_batch_has_a_most_of_bytes() -> None:
    outbox = Outbox()
    for number in range(60):
        outbox.add(an_event(number, "x" * 30_000))
    batch = outbox.batch()
    assert len(batch) > 1
    assert sum(map(len, batch.values())) + len(batch) <= MAX_BATCH_BYTES


def test_an_event_that_no_request_could_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="an event may have 32,768 bytes"):
        Outbox().add(an_event(1, "x" * MAX_EVENT_BYTES))


def test_a_cleared_outbox_is_empty_and_usable() -> None:
    outbox = Outbox()
    outbox.add(an_event(1))
    outbox.clear()
    assert outbox.batch() == {}
    assert outbox.add(an_event(2))
