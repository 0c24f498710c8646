"""Pages from the back-forward cache, which the whole browser has and its shell has not."""

import pytest
from playwright.sync_api import Browser, Page

from tests.api.sdk.browser.conftest import chromium_path, open_chromium
from tests.api.sdk.browser.site import Site, a_page
from tests.api.sdk.browser.test_navigation import IS_SENT, open_page, paths
from tests.api.sdk.browser.test_paint import configure, open_late, plain_tag
from tests.waiting import wait_until


@pytest.fixture
def chromium() -> Browser:
    return open_chromium(chromium_path("chromium"))


def test_page_from_the_back_forward_cache_is_a_view_and_not_an_exposure(site: Site, page: Page) -> None:
    open_page(site, page)
    site.pages["/next"] = a_page("<h1>Next</h1>")
    page.evaluate("addEventListener('pageshow', (event) => (window.persisted = event.persisted))")
    wait_until(lambda: page.evaluate(IS_SENT))
    page.goto(f"{site.base}/next")
    page.go_back(wait_until="commit")
    assert wait_until(lambda: page.evaluate("window.persisted"))
    assert page.inner_text("h1") == "Changed"
    wait_until(lambda: len(paths(site)) == 2)
    assert len(site.events("exposure")) == 1


def test_consent_that_was_withdrawn_meanwhile_holds_after_going_back(site: Site, page: Page) -> None:
    open_page(site, page)
    site.pages["/next"] = a_page("<h1>Next</h1>")
    page.evaluate("addEventListener('pageshow', (event) => (window.persisted = event.persisted))")
    wait_until(lambda: page.evaluate(IS_SENT))
    page.goto(f"{site.base}/next")
    page.evaluate("localStorage.truelift_consent = 'denied'")
    page.go_back(wait_until="commit")
    assert wait_until(lambda: page.evaluate("window.persisted"))
    assert page.inner_text("h1") == "Original"


def test_late_page_is_the_same_one_after_going_back(site: Site, page: Page) -> None:
    configure(site)
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    wait_until(lambda: site.exposures(late=True) and page.evaluate(IS_SENT))
    page.evaluate("addEventListener('pageshow', (event) => (window.persisted = event.persisted))")
    site.pages["/next"] = a_page("<h1>Next</h1>")
    page.goto(f"{site.base}/next")
    page.go_back(wait_until="commit")
    assert wait_until(lambda: page.evaluate("window.persisted"))
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert page.inner_text("h1") == "Original"
    assert site.exposures() == []
