"""Triggers: an experiment is counted and shown when its trigger says so, and not before."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

BODY = '<h1>Original</h1><button id="buy"><b>Buy</b></button>'


def open_page(site: Site, page: Page, trigger: str, selector: str | None = None, **fields: Any) -> None:
    site.config = a_config(
        an_experiment(
            trigger=trigger,
            trigger_selector=selector,
            changes=[a_change("modify_text", "Changed")],
            **fields,
        )
    )
    site.pages["/"] = a_page(BODY, head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview"))
    assert page.inner_text("h1") == "Original"
    assert site.events("exposure") == []


def has_started(site: Site, page: Page) -> None:
    assert page.inner_text("h1") == "Changed"
    wait_until(lambda: len(site.events("exposure")) == 1)


def test_manual_trigger_waits_for_the_page(site: Site, page: Page) -> None:
    open_page(site, page, "manual")
    page.evaluate("truelift.activate('other')")
    assert page.inner_text("h1") == "Original"
    page.evaluate("truelift.activate('test-1')")
    has_started(site, page)


def test_callback_decides_when_to_start(site: Site, page: Page) -> None:
    open_page(site, page, "callback")
    page.evaluate("truelift.activate('test-1', (start) => { window.start = start })")
    assert page.inner_text("h1") == "Original"
    page.evaluate("window.start()")
    has_started(site, page)


def test_callback_is_given_before_the_script_has_loaded(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(trigger="callback", changes=[a_change("modify_text", "Changed")]))
    early = "<script>truelift.activate('test-1', (start) => start())</script>"
    site.pages["/"] = a_page(head=site.tag() + early)
    page.goto(f"{site.base}/")
    wait_until(lambda: page.inner_text("h1") == "Changed")


def test_click_on_the_element_starts(site: Site, page: Page) -> None:
    open_page(site, page, "click", "#buy")
    page.click("h1")
    assert page.inner_text("h1") == "Original"
    page.click("#buy b")
    has_started(site, page)


def test_element_that_becomes_visible_starts(site: Site, page: Page) -> None:
    open_page(site, page, "element_visible", ".late")
    page.evaluate(
        """() => {
          const late = document.createElement("p");
          late.className = "late";
          late.textContent = "Late";
          late.style.marginTop = "3000px";
          document.body.append(late);
        }"""
    )
    assert page.inner_text("h1") == "Original"
    page.evaluate("document.querySelector('.late').scrollIntoView()")
    wait_until(lambda: page.inner_text("h1") == "Changed")
    has_started(site, page)


def test_change_of_the_address_starts(site: Site, page: Page) -> None:
    open_page(site, page, "url_change")
    page.evaluate("history.pushState(null, '', '/next')")
    wait_until(lambda: page.inner_text("h1") == "Changed")
    has_started(site, page)
    page.evaluate("history.pushState(null, '', '/third')")
    wait_until(lambda: len(site.events("pageview")) == 3)
    assert len(site.events("exposure")) == 1


def test_trigger_of_a_page_that_was_left_starts_nothing(site: Site, page: Page) -> None:
    pages = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
    open_page(site, page, "manual", pages=pages)
    page.evaluate("history.pushState(null, '', '/next')")
    wait_until(lambda: len(site.events("pageview")) == 2)
    page.evaluate("truelift.activate('test-1')")
    assert page.inner_text("h1") == "Original"


def test_variant_is_told_and_counted_for_code_of_the_page(site: Site, page: Page) -> None:
    open_page(site, page, "manual")
    told = page.evaluate("truelift.variant('test-1')")
    assert told == {"id": "var_000001b", "index": 1, "is_control": False, "experiment_id": "exp_000001"}
    assert page.evaluate("truelift.variant('unknown')") is None
    has_started(site, page)


def test_redirect_may_wait_for_a_click(site: Site, page: Page) -> None:
    site.config = a_config(
        an_experiment(
            type="redirect",
            trigger="click",
            trigger_selector="#buy",
            changes=[a_change("replace", "/b", "html")],
        )
    )
    site.pages["/"] = a_page(BODY, head=site.tag())
    site.pages["/b"] = a_page("<h1>Target</h1>")
    page.goto(f"{site.base}/")
    page.click("#buy")
    page.wait_for_url("**/b")
    wait_until(lambda: site.events("exposure"))


@pytest.mark.parametrize("trigger", ["element_visible", "click"])
def test_invalid_selector_stops_no_other_experiment(site: Site, page: Page, trigger: str) -> None:
    broken = an_experiment(number=2, trigger=trigger, trigger_selector="###")
    site.config = a_config(broken, an_experiment(changes=[a_change("modify_text", "Changed")]))
    site.pages["/"] = a_page(BODY, head=f"{site.tag()}<script>truelift.track('queued')</script>")
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview") and site.events("custom_event"))
    page.click("#buy")
    has_started(site, page)


def test_function_of_the_page_that_throws_stops_no_other_experiment(site: Site, page: Page) -> None:
    broken = an_experiment(number=2, trigger="callback")
    site.config = a_config(broken, an_experiment(changes=[a_change("modify_text", "Changed")]))
    throwing = "truelift.activate('test-2', () => { throw new Error('of the page') })"
    site.pages["/"] = a_page(BODY, head=f"{site.tag()}<script>{throwing}</script>")
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview"))
    has_started(site, page)
