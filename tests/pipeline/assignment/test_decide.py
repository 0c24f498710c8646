from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from pipeline.assignment.decide import AssignmentRequest, VariantDecision, decide
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from tests.builders import an_experiment, targeting_of

NONE: Mapping[str, str] = MappingProxyType({})


def a_visitor(**overrides: Any) -> Visitor:
    fields = {"visitor_id": "v1", "user_id": None, "url": None, "attributes": {}, **overrides}
    return Visitor(client=UNKNOWN_CLIENT, **fields)


def decision(
    *, stored: Mapping[str, str] = NONE, forced: Mapping[str, str] = NONE, **overrides: Any
) -> VariantDecision | None:
    experiment = an_experiment(**{"status": "running", **overrides})
    request = AssignmentRequest(visitor=a_visitor(), attributes={}, forced=forced)
    return next(iter(decide(request, [experiment], targeting_of, stored)), None)


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
