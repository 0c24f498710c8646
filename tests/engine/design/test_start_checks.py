"""Checks before a start: what is missing, a variant without a change, and tests on the same pages."""

from typing import Any

import pytest

from engine.design.exclusion.group_slots import GroupShare
from engine.design.exclusion.slot_taking import GroupUse
from engine.design.start_checks import start_checks
from engine.design.variants import Change, Variant
from tests.builders import NOW, a_group, a_project, an_experiment, some_slots

CHANGE = Change(id="c", selector="#buy", action="modify_text", value="Buy now")


def variants(*changes: tuple[Change, ...], **fields: Any) -> tuple[Variant, ...]:
    return tuple(
        Variant(id=f"v{place}", name=f"Variant {place}", is_control=place == 0, changes=made, **fields)
        for place, made in enumerate(changes)
    )


def found(experiment: Any, *beside: Any, **project: Any) -> dict[str, tuple[str, str]]:
    checks = start_checks(experiment, a_project(**project), beside, now=NOW)
    return {one.code: (one.state, one.message) for one in checks}


def test_slots_of_a_group_are_checked_before_the_start() -> None:
    asking = an_experiment(group=GroupShare(id="grp_1", percent=40))
    holder = an_experiment(
        id="exp_2",
        status="running",
        group=GroupShare(id="grp_1", percent=70),
        group_slots=some_slots(0, 7000),
    )
    free, full, gone = (
        {one.code: one.state for one in start_checks(asking, a_project(), (), use, now=NOW)}
        for use in (GroupUse(a_group(), []), GroupUse(a_group(), [holder]), None)
    )
    assert (free["group"], full["group.percent"], gone["group.id"]) == ("ok", "missing", "missing")


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"variants": variants((), (CHANGE,))}, "ok"),
        ({"variants": variants((), ())}, "question"),
        ({"variants": variants((), (CHANGE,), ())}, "question"),
        # A change of the control alone changes what visitors see, and the others show the page as it is.
        ({"variants": variants((CHANGE,), ())}, "question"),
        ({"variants": variants((), ()), "custom_css": "a { color: red }"}, "ok"),
        ({"variants": variants((), (), payload={"text": "B"}), "public_variants": True}, "ok"),
        ({"variants": variants((), ()), "type": "redirect"}, "question"),
    ],
)
def test_a_variant_without_a_change_is_asked_about(fields: dict[str, Any], state: str) -> None:
    said, message = found(an_experiment(**fields))["unchanged_variants"]
    assert said == state
    if state == "question":
        assert f"“Variant {len(fields['variants']) - 1}”" in message
        assert "“Variant 0”" not in message


def test_what_a_start_needs_is_missing() -> None:
    checks = found(an_experiment(goals=(), variants=variants(())))
    assert checks["variants"][0] == checks["goals"][0] == "missing"
    assert "requirements" not in checks
    assert found(an_experiment())["requirements"] == ("ok", "2 variants; “Purchase” decides.")


def test_tests_on_the_same_pages_are_named() -> None:
    here = an_experiment(variants=variants((), (CHANGE,)))
    same = an_experiment(id="exp_2", name="Sticky cart", status="running")
    apart = an_experiment(id="exp_3", name="Elsewhere", status="running", url="https://shop.example/cart")
    assert found(here, apart, here)["shared_pages"][0] == "ok"
    state, message = found(here, same, apart)["shared_pages"]
    assert (state, message) == ("notice", "One other test runs on the same pages: Sticky cart.")


def test_a_site_that_sent_nothing_is_told() -> None:
    assert found(an_experiment())["snippet"][0] == "notice"
    assert found(an_experiment(), snippet_verified=True)["snippet"][0] == "ok"
