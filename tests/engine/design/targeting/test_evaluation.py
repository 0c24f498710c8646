"""Who is eligible, and the reason given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.targeting.evaluation import OPERATORS, compile_targeting
from engine.design.targeting.fields import TARGETING_FIELDS
from engine.design.targeting.rules import EVERYONE


def rules(*children: Any, operator: str = "and") -> dict[str, Any]:
    return {"version": 2, "root": {"operator": operator, "children": list(children)}}


def when(field: str, operator: str, *values: str, **more: str) -> dict[str, Any]:
    return {"field": field, "operator": operator, "values": list(values), **more}


def is_eligible(condition: dict[str, Any], **attributes: Any) -> bool:
    return compile_targeting(rules(condition))(attributes).eligible


def test_without_conditions_everybody_is_eligible() -> None:
    assert compile_targeting(EVERYONE)({}).eligible


@pytest.mark.parametrize(
    ("operator", "values", "actual", "holds"),
    [
        ("equals", ["chrome"], "Chrome", True),
        ("equals", ["chrome"], "Firefox", False),
        ("not_equals", ["chrome"], "Firefox", True),
        ("in", ["safari", "firefox"], "Firefox", True),
        ("not_in", ["safari", "firefox"], "Firefox", False),
        ("contains", ["fox", "rome"], "Chrome", True),
        ("not_contains", ["fox", "rome"], "Chrome", False),
        ("starts_with", ["chr"], "Chrome", True),
        ("starts_with", ["rome"], "Chrome", False),
        ("ends_with", ["rome"], "Chrome", True),
        ("regex", ["^Chro.e$"], "Chrome", True),
        ("regex", ["^chro.e$"], "Chrome", False),
        ("exists", [], "Chrome", True),
        ("not_exists", [], "Chrome", False),
    ],
)
def test_text_is_compared_as_the_operator_says(
    operator: str, values: list[str], actual: str, *, holds: bool
) -> None:
    assert is_eligible(when("browser", operator, *values), browser=actual) is holds


@pytest.mark.parametrize(
    ("operator", "value", "hour", "holds"),
    [
        ("gt", "9", 10, True),
        ("gt", "9", 9, False),
        ("gte", "9", 9, True),
        ("lt", "9", "10", False),
        ("lte", "9", "09", True),
        ("equals", "9", "09", True),
        ("equals", "9.0", 9, True),
        ("gt", "9", "late", False),
        ("gt", "9", float("nan"), False),
    ],
)
def test_numbers_are_compared_as_numbers(operator: str, value: str, hour: object, *, holds: bool) -> None:
    assert is_eligible(when("hour_of_day", operator, value), hour_of_day=hour) is holds


@pytest.mark.parametrize("unknown", [{}, {"browser": None}, {"browser": ["Chrome"]}])
def test_what_is_not_known_satisfies_the_negated_operators_only(unknown: dict[str, Any]) -> None:
    satisfied = {
        operator
        for operator in TARGETING_FIELDS["browser"].operators
        if is_eligible(when("browser", operator, *(["x"] if "exists" not in operator else [])), **unknown)
    }
    assert satisfied == {"not_equals", "not_in", "not_contains", "not_exists"}


def test_a_key_tells_cookies_apart() -> None:
    condition = when("cookie", "equals", "gold", key="tier")
    assert is_eligible(condition, cookie={"tier": "gold"})
    assert not is_eligible(condition, cookie={"other": "gold"})
    assert not is_eligible(condition, cookie="gold")


def test_case_matters_only_where_people_do_not_choose_it() -> None:
    assert is_eligible(when("country", "in", "de"), country="DE")
    assert not is_eligible(when("cookie", "equals", "Gold", key="tier"), cookie={"tier": "gold"})
    assert not is_eligible(when("url", "contains", "/Cart"), url="https://shop.example/cart")


def test_true_and_numbers_are_compared_as_their_text() -> None:
    assert is_eligible(when("custom_dimension", "equals", "true", key="vip"), custom_dimension={"vip": True})
    assert is_eligible(when("custom_dimension", "gt", "2", key="orders"), custom_dimension={"orders": 3})


def test_groups_combine() -> None:
    german, mobile = when("country", "equals", "DE"), when("device_type", "equals", "mobile")
    visitor = {"country": "DE", "device_type": "desktop"}
    assert not compile_targeting(rules(german, mobile))(visitor).eligible
    assert compile_targeting(rules(german, mobile, operator="or"))(visitor).eligible
    assert not compile_targeting(rules(german, operator="not"))(visitor).eligible
    nested = rules(german, {"operator": "not", "children": [mobile]})
    assert compile_targeting(nested)(visitor).eligible


def test_compiled_rules_tell_visitors_apart() -> None:
    german, mobile = when("country", "equals", "DE"), when("device_type", "equals", "mobile")
    targeting = compile_targeting(rules(german, {"operator": "or", "children": [mobile, german]}))
    verdicts = [
        targeting({"country": country, "device_type": "mobile"}) for country in ("DE", "US", "de", None)
    ]
    assert [verdict.eligible for verdict in verdicts] == [True, False, True, False]
    assert [verdict.reason for verdict in verdicts[1::2]] == [
        "country is 'US'; wanted: equals DE",
        "country is not known; wanted: equals DE",
    ]


def test_the_reason_names_the_condition_that_failed() -> None:
    verdict = compile_targeting(rules(when("country", "in", "DE", "FR")))({"country": "US"})
    assert verdict.reason == "country is 'US'; wanted: in DE, FR"
    unknown = compile_targeting(rules(when("cookie", "exists", key="tier")))({})
    assert unknown.reason == "cookie 'tier' is not known; wanted: exists"


def test_every_offered_operator_can_be_evaluated() -> None:
    offered = {operator for field in TARGETING_FIELDS.values() for operator in field.operators}
    assert offered == set(OPERATORS)


conditions = st.builds(
    lambda operator, values: when("city", operator, *values),
    st.sampled_from(["in", "not_in", "contains", "not_contains"]),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3),
)


@given(st.lists(conditions, min_size=1, max_size=4), st.sampled_from(["a", "b", "ab", "c", None]))
def test_not_any_is_all_not(children: list[dict[str, Any]], city: str | None) -> None:
    # De Morgan: nobody who fails every condition passes their disjunction.
    any_of = {"operator": "or", "children": children}
    none_of = [{"operator": "not", "children": [child]} for child in children]
    attributes = {"city": city}
    assert (
        compile_targeting(rules(any_of, operator="not"))(attributes).eligible
        == compile_targeting(rules(*none_of))(attributes).eligible
    )
