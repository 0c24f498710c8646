"""Targeting and regular expressions in a page: the part of the script that evaluates them."""

from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page

from engine.design.experiment import Experiment
from engine.design.variants import Change
from pipeline.assignment.browser_config import browser_config
from tests.api.sdk.browser.site import Site, a_config, a_page
from tests.builders import a_project, a_variant, an_experiment, variants_of
from tests.waiting import wait_until


def when(field: str, operator: str, *values: str, **more: str) -> dict[str, Any]:
    return {"field": field, "operator": operator, "values": list(values), **more}


def changing(selector: str = "h1", **fields: Any) -> Experiment:
    """An experiment that gives everybody eligible the changed variant."""
    control = variants_of((0, 1))[0]
    change = Change(id="chg_1", selector=selector, action="modify_text", value="Changed")
    return an_experiment(status="running", variants=(control, a_variant(changes=(change,))), **fields)


def described(*experiments: Experiment) -> dict[str, Any]:
    """Describe experiments as the server does."""
    config = browser_config(a_project(), experiments, sdk_key="pk_test")
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config))
    return told


def config_of(**fields: Any) -> dict[str, Any]:
    return described(changing(**fields))


def shown_at(site: Site, page: Page, path: str, told: dict[str, Any]) -> str:
    """Open a page, and return its heading after the experiments were decided."""
    shared = {name: told[name] for name in ("automata", "time_zone")}
    site.config = a_config(*told["experiments"], **shared)
    site.pages[path.partition("?")[0]] = a_page(head=site.tag())
    page.goto(site.base + path)
    wait_until(lambda: site.events("pageview"))
    return page.inner_text("h1")


@pytest.mark.parametrize(("path", "heading"), [("/product/7", "Changed"), ("/product/x", "Original")])
def test_pages_of_a_regular_expression(site: Site, page: Page, path: str, heading: str) -> None:
    told = config_of(url=r"/product/\d+(\?.*)?$", url_match_type="regex")
    assert told["automata"]
    assert shown_at(site, page, path, told) == heading


CONDITIONS = (
    (when("utm_source", "in", "Mail"), "Changed"),
    (when("utm_source", "regex", "^M"), "Changed"),
    (when("utm_source", "regex", "^m"), "Original"),
    (when("query_param", "equals", "7", key="a"), "Changed"),
    (when("cookie", "equals", "gold", key="plan"), "Changed"),
    (when("cookie", "exists", key="other"), "Original"),
    (when("language", "starts_with", "EN"), "Changed"),
    (when("visitor_type", "equals", "returning"), "Original"),
    (when("visitor_identity", "not_equals", "identified"), "Changed"),
    (when("traffic_source", "equals", "campaign"), "Changed"),
    (when("hour_of_day", "lt", "24"), "Changed"),
)


def test_visitors_who_are_targeted(site: Site, page: Page) -> None:
    """Each condition is that of an experiment with a heading of its own."""
    experiments = [
        changing(
            id=f"exp_{number}",
            selector=f"#part{number}",
            url="/",
            url_match_type="starts_with",
            targeting_rules={"version": 2, "root": {"operator": "and", "children": [condition]}},
        )
        for number, (condition, _) in enumerate(CONDITIONS)
    ]
    told = described(*experiments)
    site.config = a_config(*told["experiments"], automata=told["automata"], time_zone=told["time_zone"])
    headings = (f"<h2 id='part{number}'>Original</h2>" for number in range(len(CONDITIONS)))
    site.pages["/"] = a_page("".join(headings), head=site.tag())
    page.context.add_cookies([{"name": "plan", "value": "gold", "url": site.base}])
    page.goto(f"{site.base}/?utm_source=Mail&a=7")
    wait_until(lambda: site.events("pageview"))
    expected = [heading for _, heading in CONDITIONS]
    assert page.locator("h2").all_inner_texts() == expected
    # Only what is eligible is counted.
    counted = [f"exp_{number}" for number, heading in enumerate(expected) if heading == "Changed"]
    assert sorted(event["experiment_id"] for event in site.events("exposure")) == sorted(counted)


PLAN = when("custom_dimension", "equals", "pro", key="plan")


def told_of_plan() -> dict[str, Any]:
    rules = {"version": 2, "root": {"operator": "and", "children": [PLAN]}}
    return config_of(url="/", url_match_type="starts_with", targeting_rules=rules)


def test_attributes_of_identify_decide_before_the_page_is_painted_and_on_later_pages(
    site: Site, page: Page
) -> None:
    told = told_of_plan()
    site.config = a_config(*told["experiments"], automata=told["automata"])
    seen = "<script>shown = document.querySelector('h1').textContent</script>"
    said = "<script>truelift.identify('u', { plan: 'pro' })</script>"
    for path, head in (("/", site.tag() + said), ("/next", site.tag())):
        # The end of the body waits for the script, as the painting does.
        site.pages[path] = a_page("<h1>Original</h1>", head=head).replace("</body>", f"{seen}</body>")
        page.goto(site.base + path)
        wait_until(lambda: page.inner_text("h1") == "Changed")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len({event["variant_id"] for event in site.events("exposure")}) == 1
    # Another user has attributes of their own.
    page.evaluate("truelift.identify('other')")
    assert "plan" not in page.evaluate("localStorage.truelift_attributes")
    page.evaluate("truelift.consent(false)")
    assert "truelift_attributes" not in page.evaluate("Object.keys(localStorage)")


def test_a_later_identify_lets_the_visitor_in_once_and_in_no_other_variant(site: Site, page: Page) -> None:
    told = told_of_plan()
    assert shown_at(site, page, "/", told) == "Original"
    page.evaluate("truelift.identify('u', { plan: 'pro' })")
    assert page.inner_text("h1") == "Changed"
    for attributes in ("{ plan: 'free' }", "{ plan: 'pro' }"):
        page.evaluate(f"truelift.identify('u', {attributes})")
        assert page.inner_text("h1") == "Changed"
    wait_until(lambda: len(site.events("identify")) == 3)
    assert len(site.events("exposure")) == 1
