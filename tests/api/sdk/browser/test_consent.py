"""Consent, privacy signals and bots: what a visitor has not allowed is neither stored nor sent."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

NewPage = Callable[..., Page]


def open_page(site: Site, page: Page, **settings: Any) -> None:
    experiment = an_experiment(changes=[a_change("modify_text", "Changed")])
    site.config = a_config(experiment, settings=settings)
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")


def traces(page: Page) -> list[str]:
    """What the browser keeps for us."""
    stored = page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]")
    return sorted({*stored, *(cookie.get("name", "") for cookie in page.context.cookies())})


def requests(site: Site) -> list[str]:
    return [path for _, path, _ in site.requests if path.startswith("/api/")]


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[NewPage]:
    contexts = []

    def make(script: str = "", user_agent: str = USER_AGENT) -> Page:
        contexts.append(chromium.new_context(user_agent=user_agent))
        contexts[-1].add_init_script(script)
        return contexts[-1].new_page()

    yield make
    for context in contexts:
        context.close()


def test_pending_consent_leaves_the_page_and_the_browser_alone(site: Site, page: Page) -> None:
    open_page(site, page, require_consent=True)
    page.evaluate("truelift.track('signup')")
    assert page.evaluate("truelift.variant('test-1')") is None
    assert page.inner_text("h1") == "Original"
    page.reload()
    assert traces(page) == []
    assert requests(site) == []


def test_granted_consent_goes_on_in_the_same_page(site: Site, page: Page) -> None:
    open_page(site, page, require_consent=True)
    page.evaluate("truelift.track('signup')")
    page.evaluate("truelift.variant('test-1', (variant) => (window.variant = variant))")
    page.evaluate("truelift.consent(true)")
    assert page.inner_text("h1") == "Changed"
    assert page.evaluate("window.variant.index") == 1
    wait_until(lambda: site.events("exposure") and site.events("pageview") and site.events("custom_event"))
    assert all("consent=granted" in path for path in requests(site))
    page.reload()
    assert page.inner_text("h1") == "Changed"


def test_denied_consent_erases_everything_but_itself(site: Site, page: Page) -> None:
    open_page(site, page, require_consent=True)
    page.evaluate("truelift.consent(true)")
    wait_until(lambda: site.events("exposure"))
    page.evaluate("truelift.consent(false)")
    assert page.inner_text("h1") == "Original"
    assert traces(page) == ["truelift_consent"]
    sent = len(requests(site))
    page.evaluate("truelift.track('signup')")
    page.reload()
    assert page.inner_text("h1") == "Original"
    assert traces(page) == ["truelift_consent"]
    assert len(requests(site)) == sent


@pytest.mark.parametrize("when", ["a request is under way", "a task records an event"])
def test_what_ends_after_the_denial_stores_nothing(site: Site, page: Page, when: str) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    # One that it would otherwise try again.
    site.answer = lambda _: (503, {"Retry-After": "1"}, "{}")
    open_page(site, page)
    wait_until(lambda: requests(site))
    if when == "a request is under way":
        page.evaluate("truelift.consent(false)")
        with page.expect_response("**/track*"):
            gate.set()
    else:
        gate.set()
        wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
        page.evaluate("() => { truelift.track('signup'); truelift.consent(false); }")
    sent = len(requests(site))
    # Beyond the second after which the request would have been repeated.
    page.evaluate("new Promise((done) => setTimeout(done, 1_200))")
    assert traces(page) == ["truelift_consent"]
    assert len(requests(site)) == sent


def test_denial_holds_where_consent_is_not_required(site: Site, page: Page) -> None:
    open_page(site, page)
    wait_until(lambda: site.events("exposure"))
    page.evaluate("truelift.consent(false)")
    page.reload()
    assert page.inner_text("h1") == "Original"


def test_the_answer_follows_the_cookie_over_the_sites_of_a_domain(site: Site, page: Page) -> None:
    open_page(site, page, require_consent=True)
    page.evaluate("truelift.consent(true)")
    # Another subdomain has the cookies, and a storage of its own.
    page.evaluate("localStorage.clear()")
    page.reload()
    assert page.inner_text("h1") == "Changed"
    page.evaluate("truelift.consent(false)")
    page.evaluate("localStorage.clear()")
    page.reload()
    assert page.inner_text("h1") == "Original"


GPC = "Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true })"
DNT = "Object.defineProperty(Navigator.prototype, 'doNotTrack', { get: () => '1' })"
DRIVEN = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => true })"


@pytest.mark.parametrize(
    ("script", "settings"),
    [(GPC, {"respect_gpc": True}), (DNT, {"respect_dnt": True}), (DRIVEN, {})],
    ids=["gpc", "dnt", "driven"],
)
def test_respected_signal_leaves_the_page_alone(
    site: Site, new_page: NewPage, script: str, settings: dict[str, Any]
) -> None:
    page = new_page(script)
    open_page(site, page, **settings)
    page.evaluate("truelift.track('signup')")
    page.evaluate("truelift.consent(true)")
    assert page.inner_text("h1") == "Original"
    page.reload()
    assert page.inner_text("h1") == "Original"
    assert requests(site) == []


@pytest.mark.parametrize(
    ("script", "settings"),
    [(GPC, {"respect_dnt": True}), (DNT, {"respect_gpc": True}), (DRIVEN, {"bot_filtering": False})],
    ids=["gpc", "dnt", "driven"],
)
def test_signal_that_the_project_does_not_respect_changes_nothing(
    site: Site, new_page: NewPage, script: str, settings: dict[str, Any]
) -> None:
    page = new_page(script)
    open_page(site, page, **settings)
    assert page.inner_text("h1") == "Changed"
    wait_until(lambda: site.events("exposure"))


def test_bot_by_the_servers_facts_sees_the_original_page(site: Site, page: Page) -> None:
    site.config = a_config(
        an_experiment(changes=[a_change("modify_text", "Changed")]), facts={"is_bot": True}
    )
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    assert page.inner_text("h1") == "Original"
    assert traces(page) == []


@pytest.mark.parametrize("answers", [["false"], ["true", "false"]], ids=str)
def test_visitor_who_refused_before_the_script_came_is_not_redirected(
    site: Site, page: Page, answers: list[str]
) -> None:
    redirect = an_experiment(type="redirect", changes=[a_change("replace", f"{site.base}/other")])
    site.config = a_config(redirect)
    said = "".join(f"truelift.consent({answer});" for answer in answers)
    site.pages["/"] = a_page(head=f"{site.tag()}<script>{said}</script>")
    page.goto(f"{site.base}/")
    assert page.evaluate("truelift.variant('test-1')") is None
    page.reload()
    assert page.url == f"{site.base}/"
    assert traces(page) == ["truelift_consent"]
    assert requests(site) == []


def test_visitor_who_agrees_after_all_is_a_new_one_with_a_page_view(site: Site, page: Page) -> None:
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
    page.evaluate("truelift.consent(false)")
    assert page.inner_text("h1") == "Original"
    page.evaluate("truelift.consent(true)")
    wait_until(lambda: len(site.events("pageview")) == len(site.events("exposure")) == 2)
    assert len({event["visitor_id"] for event in site.events("pageview")}) == 2
    assert page.inner_text("h1") == "Changed"
