from pathlib import Path

import numpy as np
import pytest

from pipeline.assignment import link_index
from pipeline.assignment.link_index import LinkIndex, UserClaim
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow, Sender
from pipeline.store.warehouse import identities
from pipeline.store.warehouse.identities import BROWSERS_LATER, read_links
from tests.pipeline.rollup.naive_persons import persons
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event

# A claim comes after all events.
NEWEST = 2**40


def load(store: WorkingStore, *pieces: list[EventRow]) -> LinkIndex:
    """Index events that arrive in pieces: the first is read from the store, the others are fed."""
    project, index = store.add_project(), LinkIndex()
    store.write(project, *pieces[0])
    read = store.ingest.last_seq_of(project.id)
    index.merge(read_links(store.warehouse, project.id, after_seq=0, up_to_seq=read))
    for seq, row in enumerate((row for piece in pieces[1:] for row in piece), read + 1):
        index.add(
            row.visitor_key, row.user_key or 0, seq + (BROWSERS_LATER if row.sender == "browser" else 0)
        )
    return index


def link(visitor: str, user: str, sender: Sender = "browser") -> EventRow:
    return an_event("identify", visitor, user_id=user, sender=sender)


@pytest.mark.parametrize("known", [1, 16_384])
def test_visitors_are_joined_as_in_the_rollup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    monkeypatch.setattr(link_index, "MAX_KNOWN", known)
    # Both modules read it at each use.
    monkeypatch.setattr(identities, "MAX_VISITORS_OF_USER", 4)
    monkeypatch.setattr(link_index, "MAX_VISITORS_OF_USER", 4)
    generator = np.random.default_rng(20)
    joined = 0
    with a_working_store(tmp_path) as store:
        for _ in range(25):
            rows = [
                link(f"v{generator.integers(8)}", f"u{generator.integers(5)}", sender)
                for sender in generator.choice(["browser", "browser", "server"], generator.integers(2, 16))
            ]
            cuts = sorted(generator.integers(0, len(rows), 2).tolist())
            pieces = [rows[: cuts[0]], rows[cuts[0] : cuts[1]], rows[cuts[1] :]]
            index = load(store, *filter(None, pieces))
            person_of = persons(rows)
            people = {f"v{number}": person_of(an_event("click", f"v{number}")) for number in range(8)}
            for visitor, person in people.items():
                others = {hash64(one) for one, same in people.items() if same == person and one != visitor}
                assert set(index.visitors_with(hash64(visitor), None, NEWEST)) == others
                joined += len(others)
    assert joined > 20


def test_a_claim_finds_the_visitors_of_the_user(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        index = load(store, [link("phone", "ann"), link("desk", "bob")])
    ann = hash64("ann")
    for is_trusted, others in ((False, [hash64("phone")]), (True, [])):
        # A server believes no browser.
        assert index.visitors_with(hash64("new"), UserClaim(ann, is_trusted), NEWEST) == others
    # A visitor of another user stays with that one.
    assert index.visitors_with(hash64("desk"), UserClaim(ann, is_trusted=False), NEWEST) == []
    assert index.visitors_with(hash64("new"), UserClaim(hash64("nobody"), is_trusted=False), NEWEST) == []


def test_a_link_is_known_once_it_is_stored_or_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_index, "MAX_VISITORS_OF_USER", 2)
    with a_working_store(tmp_path) as store:
        index = load(store, [link("phone", "ann")], [link(f"v{number}", "guest") for number in range(9)])
    phone, ann = hash64("phone"), hash64("ann")
    assert index.knows(phone, UserClaim(ann, is_trusted=False))
    assert not index.knows(phone, UserClaim(ann, is_trusted=True))
    assert not index.knows(hash64("laptop"), UserClaim(ann, is_trusted=False))
    assert index.knows(hash64("another"), UserClaim(hash64("guest"), is_trusted=False))
