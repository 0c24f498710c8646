"""The stub in the page: commands wait for the script, and a late or dead service leaves the original page."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

SCRIPT = f"/sdk/v1/{KEY}.js"
# A browser that cannot block rendering.
NO_BLOCKING = "delete HTMLScriptElement.prototype.blocking"
VISIBILITY = "getComputedStyle(document.documentElement).visibility"
browsers = pytest.mark.parametrize("script", ["", NO_BLOCKING], ids=["blocking", "hiding"])


def serve(site: Site, head: str = "", **fields: Any) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "Changed")], **fields))
    site.pages["/"] = a_page(head=site.tag() + head)


@browsers
def test_commands_wait_for_the_script_in_their_order(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    site.gates[SCRIPT] = threading.Event()
    commands = (
        "truelift.track('first'); truelift('track', 'second');"
        "truelift.variant('test-1', (variant) => (window.variant = variant));"
    )
    serve(site, f"<script>{commands}</script>")
    page.goto(f"{site.base}/", wait_until="commit")
    wait_until(lambda: page.evaluate("window.truelift?.q?.length") == 3)
    site.gates[SCRIPT].set()
    wait_until(lambda: len(site.events("custom_event")) == 2)
    assert [event["event_name"] for event in site.events("custom_event")] == ["first", "second"]
    assert page.evaluate("window.variant.index") == 1
    assert page.inner_text("h1") == "Changed"
    assert page.evaluate(VISIBILITY) == "visible"


@browsers
@pytest.mark.parametrize("thresholds", [[0, 2**32], [2**32, 2**32]], ids=["variant", "control"])
def test_late_script_changes_nothing_and_exposes_nobody(
    site: Site, page: Page, script: str, thresholds: list[int]
) -> None:
    page.add_init_script(script)
    site.gates[SCRIPT] = threading.Event()
    site.timeout_ms = 50
    serve(site, thresholds=thresholds)
    page.goto(f"{site.base}/", wait_until="commit")
    wait_until(lambda: page.evaluate("window.truelift?.late"))
    assert page.evaluate(VISIBILITY) == "visible"
    site.gates[SCRIPT].set()
    wait_until(lambda: site.events("pageview"))
    assert page.inner_text("h1") == "Original"
    assert page.evaluate("truelift.variant('test-1')") is None
    assert [event.get("late") for event in site.events("exposure")] == [True]
    # The next page is in time.
    site.timeout_ms = 10_000
    serve(site, thresholds=thresholds)
    page.goto(f"{site.base}/")
    wait_until(site.exposures)


@browsers
def test_failing_script_leaves_the_page_as_it_is(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    serve(site)
    site.pages["/"] = site.pages["/"].replace(SCRIPT, "/unknown.js")
    page.goto(f"{site.base}/")
    wait_until(lambda: page.evaluate("window.truelift.late"))
    assert page.evaluate(VISIBILITY) == "visible"
    assert page.inner_text("h1") == "Original"


def test_page_without_the_stub_works(site: Site, page: Page) -> None:
    site.stub = ""
    serve(site)
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    assert page.inner_text("h1") == "Changed"


def test_code_that_has_kept_the_stub_goes_on_to_call_it(site: Site, page: Page) -> None:
    serve(site)
    keep = "<script>const { revenue } = truelift, all = truelift; revenue(1, {})</script>"
    site.pages["/"] = site.pages["/"].replace("</head>", f"{keep}</head>")
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("conversion")) == 1)
    page.evaluate("revenue(2, {}); all('revenue', 3, {})")
    wait_until(lambda: len(site.events("conversion")) == 3)
    assert page.evaluate("new Promise((done) => all.variant('test-1', done))") is not None


def test_second_tag_does_nothing(site: Site, page: Page) -> None:
    serve(site, site.tag().replace('id="truelift" ', ""))
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    assert len(site.events("pageview")) == 1
