"""Units other than the visitor: the browser takes the id that the server takes, each with its variant."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page

from engine.design.assignment import assign
from engine.design.units import AttributeUnit, Unit, unit_id
from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH, MAX_WHOLE
from pipeline.assignment.browser_config import browser_config
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.api.sdk.browser.site import Site, a_change, a_config, a_page
from tests.api.sdk.browser.site import an_experiment as a_described
from tests.builders import a_project, an_experiment
from tests.examples import examples
from tests.waiting import wait_until

ACCOUNT = AttributeUnit(attribute="account")
SPACES = st.text(" \t\n\x0b\x1c\x1f\x85\xa0\u2028\u3000\ufeff", max_size=2)
TEXTS = st.text(max_size=8) | st.sampled_from([*sorted(JUNK_IDS), "x" * MAX_ID_LENGTH, "😀" * 201])
IDS: st.SearchStrategy[Any] = (
    st.builds(lambda before, text, after: before + text + after, SPACES, TEXTS, SPACES)
    | st.integers(-MAX_WHOLE - 2, MAX_WHOLE + 2)
    | st.sampled_from([1.5, 12.0, -0.0, 1e15, 1e16, 1e300, True, False, None, [], {"id": 1}])
)
NESTED = st.dictionaries(st.sampled_from(["account", "plan"]), IDS, max_size=2)
ATTRIBUTES = st.fixed_dictionaries(
    {}, optional={"account": IDS, "custom_dimensions": NESTED, "custom_dimension": NESTED}
)
VISITS = st.fixed_dictionaries(
    {"visitor_id": st.just("v1"), "user_id": st.none() | TEXTS, "attributes": ATTRIBUTES}
)


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


@pytest.mark.parametrize(("unit", "described"), [("user", "user"), (ACCOUNT, {"attribute": "account"})])
@examples(10, 200)
@given(visits=st.lists(VISITS, min_size=30, max_size=60))
def test_any_visit_has_one_id_on_both_sides(
    script: JavaScript, visits: list[dict[str, Any]], unit: Unit, described: object
) -> None:
    expected = [unit_id(unit, **visit) for visit in visits]
    assert script.call("units", described, visits) == expected


@pytest.mark.parametrize("unit", ["visitor", "user", ACCOUNT])
def test_the_variant_is_that_of_the_unit_on_both_sides(script: JavaScript, unit: Unit) -> None:
    experiment = an_experiment(status="running", weights=(1, 1, 1), traffic_allocation=80, unit=unit)
    config = browser_config(a_project(), [experiment], sdk_key="pk")
    shown = set()
    for number in range(60):
        given: dict[str, Any] = {
            "visitor_id": f"v{number}",
            "user_id": f"u{number // 2}",
            "attributes": {"account": number // 3},
        }
        own = unit_id(unit, **given)
        variant = assign(experiment, own).variant
        expected = None if variant is None else experiment.variants.index(variant)
        assert script.call("decide", config, {**given, "url": experiment.url}, {}, "", 0) == [expected]
        shown.add(expected)
    assert shown == {None, 0, 1, 2}


@pytest.mark.parametrize("unit", ["user", {"attribute": "account"}])
def test_a_visit_without_the_id_has_no_variant(script: JavaScript, unit: object) -> None:
    experiment = an_experiment(status="running", unit="user")
    config = browser_config(a_project(), [experiment], sdk_key="pk")
    config["experiments"][0]["unit"] = unit
    visit: dict[str, Any] = {"visitor_id": "v1", "user_id": None, "url": experiment.url, "attributes": {}}
    stored = {experiment.id: experiment.variants[0].id}
    assert script.call("decide", config, visit, stored, "", 0) == [None]


HEADING = "document.querySelector('h1').textContent"


def shows(page: Page, heading: str) -> None:
    wait_until(lambda: page.evaluate(HEADING) == heading)


def with_accounts(site: Site, unit: object) -> dict[str, str]:
    """Serve an experiment, and return an id that gets each of its two headings."""
    half = 2**31
    site.config = a_config(
        a_described(unit=unit, thresholds=[half, 2**32], changes=[a_change("modify_text", "New")])
    )
    built = an_experiment(status="running", salt="salt", weights=(1, 1), unit="user")
    indexes = [built.variants.index(assign(built, str(number)).variant) for number in range(1, 40)]
    return {"Original": str(1 + indexes.index(0)), "New": str(1 + indexes.index(1))}


@pytest.mark.parametrize("number_of", [str, int])
def test_each_account_in_a_browser_has_its_own_variant(site: Site, page: Page, number_of: type) -> None:
    ids = with_accounts(site, {"attribute": "account"})
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview"))
    assert page.evaluate(HEADING) == "Original"
    assert site.events("exposure") == []
    for heading in ("New", "Original", "New"):
        page.evaluate("(account) => truelift.identify(undefined, {account})", number_of(ids[heading]))
        shows(page, heading)
    wait_until(lambda: len(site.events("exposure")) == 2)
    exposures = site.events("exposure")
    assert [one["variant_id"] for one in exposures] == ["var_000001b", "var_000001a"]
    assert [one["attributes"]["account"] for one in exposures] == [
        number_of(ids["New"]),
        number_of(ids["Original"]),
    ]
    # Both are kept: with less traffic than before each has the variant that it was given.
    site.config["experiments"][0]["traffic"] = 0
    page.goto(f"{site.base}/")
    for heading in ("New", "Original", "New"):
        page.evaluate("(account) => truelift.identify(undefined, {account})", ids[heading])
        shows(page, heading)


def test_another_user_of_the_browser_has_the_variant_of_its_own(site: Site, page: Page) -> None:
    ids = with_accounts(site, "user")
    queued = "<script>truelift('identify', {})</script>"
    site.pages["/"] = a_page(head=site.tag() + queued.format(ids["New"]))
    page.goto(f"{site.base}/")
    shows(page, "New")
    site.pages["/out"] = a_page(head=site.tag())
    page.goto(f"{site.base}/out")
    # The browser remembers its user.
    shows(page, "New")
    page.evaluate("truelift.identify(null)")
    shows(page, "Original")
    wait_until(lambda: len(site.events("exposure")) == 2)
    page.evaluate("(user) => truelift.identify(user)", ids["Original"])
    wait_until(lambda: len(site.events("exposure")) == 3)
    exposures = site.events("exposure")
    assert [one["user_id"] for one in exposures] == [ids["New"], ids["New"], ids["Original"]]
    assert exposures[2]["variant_id"] == "var_000001a"
    assert {one["user_id"] for one in site.events("identify")} == {ids["New"], ids["Original"]}
