from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from pipeline.assignment.decide import AssignmentRequest, VariantDecision, assignment_rows, decide
from pipeline.assignment.first_assignments import KnownAssignments
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT, Client
from pipeline.events.hashing import hash64
from tests.builders import an_experiment

NONE: Mapping[str, str] = MappingProxyType({})


def a_visitor(client: Client = UNKNOWN_CLIENT, **overrides: Any) -> Visitor:
    fields = {"visitor_id": "v1", "user_id": None, "url": None, "attributes": {}, **overrides}
    return Visitor(client=client, **fields)


def decision(
    *, stored: Mapping[str, str] = NONE, forced: Mapping[str, str] = NONE, **overrides: Any
) -> VariantDecision | None:
    experiment = an_experiment(**{"status": "running", **overrides})
    request = AssignmentRequest(visitor=a_visitor(), attributes={}, forced=forced)
    return next(iter(decide(request, [experiment], stored)), None)


def test_a_new_visitor_gets_a_variant() -> None:
    made = decision()
    assert made is not None
    assert made.status == "new"
    assert made.variant in made.experiment.variants


@pytest.mark.parametrize("variant_id", ["var_0", "var_1"])
def test_a_stored_assignment_stays(variant_id: str) -> None:
    made = decision(stored={"exp_1": variant_id})
    assert made is not None
    assert made.variant is not None
    assert (made.status, made.variant.id) == ("existing", variant_id)


@pytest.mark.parametrize("status", ["draft", "scheduled", "completed", "archived"])
def test_an_experiment_that_is_not_served_is_left_out(status: str) -> None:
    assert decision(status=status) is None


@pytest.mark.parametrize("status", ["draft", "scheduled", "running", "paused"])
def test_a_preview_forces_a_variant_before_the_end(status: str) -> None:
    made = decision(status=status, forced={"exp_1": "var_1"})
    assert made is not None
    assert made.variant is not None
    assert (made.status, made.variant.id) == ("forced", "var_1")


@pytest.mark.parametrize("status", ["completed", "archived"])
def test_a_preview_forces_no_variant_after_the_end(status: str) -> None:
    assert decision(status=status, forced={"exp_1": "var_1"}) is None


def test_an_unknown_forced_variant_is_ignored() -> None:
    made = decision(forced={"exp_1": "var_9"})
    assert made is not None
    assert made.status == "new"


def test_new_assignments_become_rows_and_others_do_not() -> None:
    new, existing = decision(), decision(stored={"exp_1": "var_0"})
    assert new is not None
    assert new.variant is not None
    assert existing is not None
    (row,) = assignment_rows(a_visitor(), [new, existing], 7, "browser", known=known())
    assert (row.type, row.experiment_id, row.variant_id) == ("assignment", "exp_1", new.variant.id)
    assert (row.visitor_key, row.received_at, row.event_id) == (hash64("v1"), 7, "assignment:exp_1:v1")


def test_a_bot_has_no_rows() -> None:
    new = decision()
    assert new is not None
    bot = Client.of_headers({"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"})
    unlinked = known(inherited={"exp_1"}, is_linked=False)
    assert assignment_rows(a_visitor(bot), [new], 7, "browser", known=unlinked) == []


def test_an_assignment_from_another_device_is_stored_for_the_visitor() -> None:
    existing = decision(stored={"exp_1": "var_0"})
    assert existing is not None
    (row,) = assignment_rows(a_visitor(), [existing], 7, "browser", known=known(inherited={"exp_1"}))
    assert (row.type, row.experiment_id, row.variant_id) == ("assignment", "exp_1", "var_0")


def test_a_new_user_of_a_known_visitor_is_stored_once() -> None:
    existing = decision(stored={"exp_1": "var_0"})
    assert existing is not None
    visitor = replace(a_visitor(), user_id="ann")
    (row,) = assignment_rows(visitor, [existing], 7, "server", known=known(is_linked=False))
    assert (row.type, row.user_key, row.visitor_key) == ("identify", hash64("ann"), hash64("v1"))
    assert row.sender == "server"
    assert assignment_rows(visitor, [existing], 7, "server", known=known()) == []


def known(*, inherited: Iterable[str] = (), is_linked: bool = True) -> KnownAssignments:
    return KnownAssignments(variant_ids={}, inherited=frozenset(inherited), is_linked=is_linked)
