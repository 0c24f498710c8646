"""Pages that are seen before the script comes: newcomers see the original, and are exposed in no arm."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.api.sdk.browser.test_navigation import PRERENDERED
from tests.waiting import wait_until

SCRIPT = f"/sdk/v1/{KEY}.js"
PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0"
# A browser that does not tell of its paints, and one that hides a page instead of blocking it.
UNTOLD = "delete window.PerformancePaintTiming;"
# A tab in the background: the driver of these tests shows every tab.
HIDDEN = """
  performance.getEntriesByName = () => [];
  Object.defineProperty(Document.prototype, 'hidden', { get: () => true });
"""
VARIANT, CONTROL = [0, 2**32], [2**32, 2**32]
# A browser that tells of its paints or not, for each arm; what is late is so in every arm alike.
both_ways = pytest.mark.parametrize(
    ("script", "thresholds"),
    [
        pytest.param("", VARIANT, id="told-variant"),
        pytest.param(UNTOLD, CONTROL, id="untold-control"),
        pytest.param("", CONTROL, id="told-control", marks=pytest.mark.long(seconds=1)),
        pytest.param(UNTOLD, VARIANT, id="untold-variant", marks=pytest.mark.long(seconds=1)),
    ],
)
arms = pytest.mark.parametrize("thresholds", [VARIANT, CONTROL], ids=["variant", "control"])


def configure(site: Site, *, thresholds: list[int] = VARIANT, timeout_ms: int = 1000, **fields: Any) -> None:
    experiment = an_experiment(changes=[a_change("modify_text", "Changed")], thresholds=thresholds, **fields)
    site.config = a_config(experiment, settings={"anti_flicker_timeout_ms": timeout_ms})


def plain_tag(site: Site, attributes: str = "") -> str:
    return f'<script {attributes} src="{site.service}{SCRIPT}"></script>'


def inject(site: Site, page: Page) -> None:
    """Add the script as a tag manager does."""
    page.evaluate(
        "(source) => document.head.append(Object.assign(document.createElement('script'), { src: source }))",
        f"{site.service}{SCRIPT}",
    )


def open_late(site: Site, page: Page, head: str = "", body: str = "<h1>Original</h1>") -> None:
    """Open a page whose tag waits for the answer until the page is painted."""
    gate = site.gates[SCRIPT] = threading.Event()
    site.pages["/"] = site.pages["/next"] = a_page(body, head=head)
    page.goto(f"{site.base}/", wait_until="commit")
    page.wait_for_function(PAINTED)
    gate.set()


def open_in_time(site: Site, page: Page) -> None:
    """Open a page as the installation describes it."""
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.exposures() and site.events("pageview"))


def assert_original(site: Site, page: Page) -> None:
    wait_until(lambda: site.events("pageview"))
    assert page.inner_text("h1") == "Original"
    assert page.evaluate("truelift.variant('test-1')") is None
    assert site.exposures() == []
    assert [event["variant_id"][:-1] for event in site.exposures(late=True)] == ["var_000001"]


@both_ways
def test_tag_in_the_body_is_late(site: Site, page: Page, script: str, thresholds: list[int]) -> None:
    page.add_init_script(script)
    configure(site, thresholds=thresholds)
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    assert_original(site, page)


@both_ways
def test_tag_of_a_tag_manager_is_late(site: Site, page: Page, script: str, thresholds: list[int]) -> None:
    page.add_init_script(script)
    configure(site, thresholds=thresholds)
    open_late(site, page)
    inject(site, page)
    assert_original(site, page)


def test_script_after_the_timeout_is_late_and_says_so_once_a_tab(site: Site, page: Page) -> None:
    configure(site)
    site.timeout_ms = 50
    open_late(site, page, head=site.tag())
    assert_original(site, page)
    site.gates[SCRIPT].clear()
    page.goto(f"{site.base}/next", wait_until="commit")
    page.wait_for_function(PAINTED)
    site.gates[SCRIPT].set()
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len(site.exposures(late=True)) == 1


def test_page_that_the_script_hides_or_blocks_is_in_time_however_slow(site: Site, page: Page) -> None:
    gate = site.gates[SCRIPT] = threading.Event()
    configure(site)
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/", wait_until="commit")
    page.wait_for_function("document.readyState === 'interactive'")
    gate.set()
    wait_until(site.exposures)
    assert site.exposures(late=True) == []
    assert page.inner_text("h1") == "Changed"


@pytest.mark.parametrize("script", ["", UNTOLD], ids=["told", "untold"])
def test_tag_at_the_start_of_the_head_is_in_time(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    configure(site)
    site.pages["/"] = a_page(head=plain_tag(site))
    page.goto(f"{site.base}/")
    wait_until(site.exposures)
    assert page.inner_text("h1") == "Changed"


@pytest.mark.parametrize("by", ["the project", "the tag"])
def test_page_that_waits_for_nothing_is_changed_after_it_was_seen(site: Site, page: Page, by: str) -> None:
    configure(site, timeout_ms=0 if by == "the project" else 1000)
    tag = plain_tag(site, "async" if by == "the project" else 'async data-timeout="0"')
    open_late(site, page, head=tag)
    wait_until(site.exposures)
    assert page.inner_text("h1") == "Changed"


@arms
def test_visitor_with_a_variant_keeps_it_on_a_late_page(
    site: Site, page: Page, thresholds: list[int]
) -> None:
    configure(site, thresholds=thresholds)
    open_in_time(site, page)
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    wait_until(lambda: len(site.exposures()) == 2)
    assert page.inner_text("h1") == ("Changed" if thresholds == VARIANT else "Original")
    assert page.evaluate("truelift.variant('test-1').index") == (thresholds == VARIANT)
    assert site.exposures(late=True) == []


def test_late_page_is_not_left_by_a_redirect(site: Site, page: Page) -> None:
    redirect = an_experiment(type="redirect", changes=[a_change("replace", f"{site.base}/target")])
    site.config = a_config(redirect)
    site.pages["/target"] = a_page("<h1>Target</h1>")
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    page.wait_for_url("**/target")
    wait_until(site.exposures)
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    wait_until(lambda: site.events("pageview"))
    assert page.inner_text("h1") == "Original"
    assert len(site.exposures()) == 1
    assert site.exposures(late=True) == []


@pytest.mark.parametrize("script", [HIDDEN, HIDDEN + PRERENDERED], ids=["hidden", "prerendered"])
def test_page_that_was_not_seen_is_in_time_after_the_timeout(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    configure(site)
    site.timeout_ms = 50
    gate = site.gates[SCRIPT] = threading.Event()
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/", wait_until="commit")
    wait_until(lambda: page.evaluate("window.truelift?.late"))
    gate.set()
    page.wait_for_function("document.querySelector('h1').textContent === 'Changed'")
    page.evaluate("window.showPage?.()")
    wait_until(site.exposures)
    assert page.inner_text("h1") == "Changed"


def test_next_page_within_a_late_one_is_in_time(site: Site, page: Page) -> None:
    configure(site)
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    assert_original(site, page)
    # The same page, with another query: what it shows was seen.
    page.evaluate("history.replaceState(null, '', '?utm=')")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert site.exposures() == []
    page.evaluate("history.pushState(null, '', '/next')")
    wait_until(site.exposures)
    assert page.inner_text("h1") == "Changed"
    page.evaluate("history.back()")
    wait_until(lambda: len(site.events("pageview")) == 4)
    assert page.inner_text("h1") == "Changed"


def test_user_who_is_told_later_is_not_exposed_on_a_late_page(site: Site, page: Page) -> None:
    configure(site, unit="user")
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    wait_until(lambda: site.events("pageview"))
    page.evaluate("truelift.identify('u1')")
    wait_until(lambda: site.exposures(late=True))
    assert page.inner_text("h1") == "Original"
    assert site.exposures() == []


def test_decisions_of_the_server_hold_on_a_late_page_for_nobody_new(site: Site, page: Page) -> None:
    configure(site, decided_by_server=True, pages=None)
    experiment = site.config["experiments"][0]
    decided = {"covers_page": True, "redirect_url": None, "variant_id": experiment["variants"][1]["id"]}
    site.init = lambda _: {"assignments": [{"experiment_id": experiment["id"], **decided}]}
    open_late(site, page, body=f"<h1>Original</h1>{plain_tag(site)}")
    wait_until(lambda: site.exposures(late=True))
    assert page.inner_text("h1") == "Original"
    assert site.exposures() == []
