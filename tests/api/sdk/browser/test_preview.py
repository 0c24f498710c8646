"""Previews show the variants that the address asks for, and count nothing."""

from typing import Any

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

BANNER = "document.querySelector('truelift-preview')?.shadowRoot.textContent"


def open_page(site: Site, page: Page, query: str, *experiments: dict[str, Any]) -> None:
    site.config = a_config(*experiments)
    site.pages["/"] = a_page('<h1>Original</h1><a href="/next">Next</a>', head=site.tag())
    site.pages["/next"] = a_page("<h1>Original</h1>", head=site.tag())
    page.goto(f"{site.base}/{query}")
    wait_until(lambda: page.evaluate(BANNER))


def is_uncounted(site: Site, page: Page) -> bool:
    return page.context.cookies() == [] and not any("/sdk/track" in path for _, path, _ in site.requests)


def test_live_experiment_is_shown_through_the_tab_until_the_exit(site: Site, page: Page) -> None:
    # By hash it would be the control.
    experiment = an_experiment(thresholds=[2**32, 2**32], changes=[a_change("modify_text", "Changed")])
    open_page(site, page, "?truelift_preview=exp_000001:var_000001b", experiment)
    assert page.inner_text("h1") == "Changed"
    assert "test-1, variant 1" in page.evaluate(BANNER)
    page.click("a")
    wait_until(lambda: page.evaluate(BANNER))
    assert page.inner_text("h1") == "Changed"
    assert is_uncounted(site, page)
    page.evaluate("document.querySelector('truelift-preview').shadowRoot.querySelector('button').click()")
    wait_until(lambda: site.events("exposure"))
    assert page.inner_text("h1") == "Original"


def test_draft_is_asked_of_the_server(site: Site, page: Page) -> None:
    def init(visit: dict[str, Any]) -> dict[str, Any]:
        assert visit["assignments"] == {"exp_draft": "var_draft"}
        shown = {"experiment_id": "exp_draft", "test_key": "draft", "variant_id": "var_draft"}
        other = {"experiment_id": "exp_other", "test_key": "other", "variant_id": "var_other"}
        changes = {"changes": [a_change("modify_text", "Drafted")], "redirect_url": None}
        return {"assignments": [shown | changes, other | changes]}

    site.init = init
    open_page(site, page, "?truelift_preview=exp_draft:var_draft")
    assert page.inner_text("h1") == "Drafted"
    assert page.evaluate(BANNER) == "Preview, not counted: draft (draft)Exit preview"
    assert is_uncounted(site, page)


def test_redirect_is_previewed(site: Site, page: Page) -> None:
    experiment = an_experiment(type="redirect", changes=[a_change("replace", "/next", "html")])
    open_page(site, page, "?truelift_preview=exp_000001:var_000001b", experiment)
    page.wait_for_url("**/next")
    assert is_uncounted(site, page)


def test_unknown_variant_shows_the_original(site: Site, page: Page) -> None:
    open_page(site, page, "?truelift_preview=exp_000001:var_x", an_experiment())
    assert page.inner_text("h1") == "Original"
    assert page.evaluate(BANNER) == "Preview, not counted: not on this pageExit preview"
