"""Consent of Google consent mode and of the IAB's TCF: early, late, changed and taken back."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.api.sdk.browser.test_consent import requests, traces
from tests.examples import in_shares
from tests.waiting import wait_until

Say = Callable[[str], str]
LAYER = "window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }"
# As the standard has it: listeners are called now, and again when the visitor answers.
PLATFORM = """
  const listeners = [];
  let data = { eventStatus: 'cmpuishown', gdprApplies: true, purpose: { consents: {} } };
  window.__tcfapi = (command, version, callback) => {
    if (command !== 'addEventListener' || version !== 2) return callback(null, false);
    listeners.push(callback);
    callback(data, true);
  };
  window.answer = (fields) => {
    data = { ...data, eventStatus: 'useractioncomplete', ...fields };
    for (const listener of listeners) listener(data, true);
  };
"""


def mode(kind: str, answer: str, **more: Any) -> str:
    return f"gtag('consent', '{kind}', {dict(analytics_storage=answer, **more)});"


def tcf(*purposes: int) -> str:
    return f"answer({{ purpose: {{ consents: {{ {', '.join(f'{one}: true' for one in purposes)} }} }} }});"


# By source: what its platform is on the page, and how it grants and denies.
SOURCES = {
    "google_consent_mode": (LAYER, mode("update", "granted"), mode("update", "denied")),
    "tcf": (PLATFORM, tcf(1, 8), tcf(1, 9)),
}
sources = pytest.mark.parametrize("source", SOURCES)
# What is the same from there on that a source has given its answer.
any_source = pytest.mark.parametrize("source", ["tcf", *in_shares("google_consent_mode", seconds=1)])


def open_page(site: Site, page: Page, source: str, before: str = "", after: str = "") -> None:
    experiment = an_experiment(changes=[a_change("modify_text", "Changed")])
    site.config = a_config(experiment, settings={"require_consent": True, "consent_source": source})
    site.pages["/"] = a_page(head=f"<script>{before}</script>{site.tag()}<script>{after}</script>")
    page.goto(f"{site.base}/")


def changed(page: Page) -> bool:
    return page.inner_text("h1") == "Changed"


@sources
def test_nothing_is_stored_or_sent_without_an_answer(site: Site, page: Page, source: str) -> None:
    platform, _, _ = SOURCES[source]
    default = mode("default", "denied") if source == "google_consent_mode" else ""
    open_page(site, page, source, platform + default)
    page.evaluate("truelift.track('signup')")
    page.reload()
    assert page.evaluate("truelift.variant('test-1')") is None
    assert (changed(page), traces(page), requests(site)) == (False, [], [])


@sources
def test_answer_goes_on_in_the_same_page_and_is_asked_for_on_the_next(
    site: Site, page: Page, source: str
) -> None:
    platform, granted, _ = SOURCES[source]
    default = mode("default", "denied") if source == "google_consent_mode" else ""
    open_page(site, page, source, platform + default)
    page.evaluate("truelift.track('signup')")
    page.evaluate(granted)
    wait_until(lambda: site.events("custom_event") and site.events("exposure") and site.events("pageview"))
    assert changed(page)
    assert all("consent=granted" in path for path in requests(site))
    page.reload()
    assert (changed(page), len(site.events("pageview"))) == (False, 1)
    page.evaluate(granted)
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert changed(page)
    assert len({event["visitor_id"] for event in site.received}) == 1


@any_source
def test_answer_that_was_there_first_holds_at_once(site: Site, page: Page, source: str) -> None:
    platform, granted, _ = SOURCES[source]
    open_page(site, page, source, platform + granted)
    wait_until(lambda: site.events("exposure"))
    assert changed(page)


@sources
def test_answer_that_is_taken_back_erases_and_undoes(site: Site, page: Page, source: str) -> None:
    platform, granted, denied = SOURCES[source]
    open_page(site, page, source, platform + granted)
    wait_until(lambda: site.events("exposure"))
    page.evaluate(denied)
    wait_until(lambda: traces(page) == [])
    assert not changed(page)
    page.evaluate("truelift.track('signup')")
    page.evaluate(granted)
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert changed(page)
    assert len({event["visitor_id"] for event in site.events("pageview")}) == 2
    assert site.events("custom_event") == []


@any_source
def test_denial_erases_what_earlier_pages_stored(site: Site, page: Page, source: str) -> None:
    platform, granted, denied = SOURCES[source]
    open_page(site, page, source, platform + granted)
    wait_until(lambda: site.events("exposure"))
    open_page(site, page, source, platform + denied)
    wait_until(lambda: traces(page) == [])
    assert not changed(page)


@sources
def test_platform_may_load_after_the_script(site: Site, page: Page, source: str) -> None:
    platform, granted, _ = SOURCES[source]
    # Some put a queue of their own in place of the one that is there.
    late = platform.replace("window.dataLayer || []", "[]").replace("function gtag", "window.gtag = function")
    open_page(site, page, source)
    assert not changed(page)
    page.evaluate(f"(() => {{ {late}; {granted} }})()")
    page.wait_for_function("document.querySelector('h1').textContent === 'Changed'")


@any_source
@pytest.mark.parametrize("is_granted", [True, False])
def test_answer_to_the_page_itself_wins(site: Site, page: Page, source: str, *, is_granted: bool) -> None:
    platform, granted, denied = SOURCES[source]
    said = f"truelift.consent({str(is_granted).lower()})"
    open_page(site, page, source, platform, said)
    page.evaluate(denied if is_granted else granted)
    page.evaluate("new Promise((done) => setTimeout(done))")
    assert changed(page) == is_granted
    page.reload()
    page.evaluate(denied if is_granted else granted)
    assert changed(page) == is_granted
    assert ("truelift_visitor" in traces(page)) == is_granted


BEFORE, AFTER = "before the script", "after the script"


# What commands of consent mode say, by when they come.
MODES = [
    (mode("default", "granted"), True, BEFORE),
    (mode("default", "granted"), True, AFTER),
    (mode("default", "granted") + mode("default", "denied", region=["AT"]), False, BEFORE),
    # Commands that come later are read by the same function, one by one.
    (mode("default", "granted") + mode("default", "denied", region=["AT"]), False, AFTER),
    (mode("default", "granted", region=["US"]), False, BEFORE),
    (mode("update", "granted") + mode("default", "denied"), True, BEFORE),
    ("gtag('consent', 'update', { ad_storage: 'granted' });", False, BEFORE),
    (mode("default", "granted") + mode("update", "denied"), False, BEFORE),
    ("dataLayer.push(['consent', 'update', { analytics_storage: 'granted' }], null, 7, {});", True, BEFORE),
    ("dataLayer.push(['consent', 'update', { analytics_storage: 'granted' }], null, 7, {});", True, AFTER),
]


def test_consent_mode_is_read_as_a_browser_can(site: Site, page: Page) -> None:
    for commands, is_granted, when in MODES:
        early, late = (commands, "") if when == BEFORE else ("", commands)
        open_page(site, page, "google_consent_mode", LAYER + early)
        if late:
            page.evaluate(f"(() => {{ {late} }})()")
        page.evaluate("new Promise((done) => setTimeout(done))")
        assert changed(page) == is_granted, (commands, when)
        leave(site, page)


def leave(site: Site, page: Page) -> None:
    """Leave the site, and forget what its pages have stored, for another visitor."""
    page.goto("about:blank")
    stored = {"origin": site.base, "storageTypes": "all"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", stored)
    page.context.clear_cookies()


def test_default_that_comes_to_deny_takes_back_what_was_granted(site: Site, page: Page) -> None:
    open_page(site, page, "google_consent_mode", LAYER + mode("default", "granted"))
    wait_until(lambda: site.events("exposure"))
    page.evaluate(mode("default", "denied"))
    wait_until(lambda: traces(page) == [])
    assert not changed(page)


FAILING = {
    "google_consent_mode": "Object.defineProperty(window, 'dataLayer', { get: () => nowhere })",
    "tcf": "window.__tcfapi = () => { throw new Error('not ready') }",
}


@sources
def test_platform_that_fails_leaves_the_answer_to_the_page(site: Site, page: Page, source: str) -> None:
    open_page(site, page, source, FAILING[source], "truelift.track('signup')")
    assert not changed(page)
    page.evaluate("truelift.consent(true)")
    wait_until(lambda: site.events("custom_event") and site.events("exposure"))
    assert changed(page)


def test_framework_is_read_by_its_purposes(site: Site, page: Page) -> None:
    for answer, is_granted in (
        ("answer({ gdprApplies: false })", True),
        ("answer({ eventStatus: 'tcloaded', purpose: { consents: { 1: true, 8: true } } })", True),
        ("answer({ eventStatus: 'cmpuishown', purpose: { consents: { 1: true, 8: true } } })", False),
        ("answer({ purpose: { consents: { 8: true } } })", False),
        ("answer({ purpose: undefined })", False),
    ):
        open_page(site, page, "tcf", PLATFORM)
        page.evaluate(answer)
        assert changed(page) == is_granted, answer
        leave(site, page)


def test_preview_shows_whatever_the_platform_says(site: Site, page: Page) -> None:
    experiment = an_experiment(changes=[a_change("modify_text", "Changed")])
    settings = {"require_consent": True, "consent_source": "google_consent_mode"}
    site.config = a_config(experiment, settings=settings)
    denied = f"<script>{LAYER}{mode('update', 'denied')}</script>"
    site.pages["/"] = a_page(head=denied + site.tag())
    page.goto(f"{site.base}/?truelift_preview={experiment['id']}:{experiment['variants'][1]['id']}")
    page.wait_for_function("document.querySelector('h1').textContent === 'Changed'")
    page.goto(f"{site.base}/")
    page.wait_for_function("document.querySelector('h1').textContent === 'Changed'")
    assert requests(site) == []
