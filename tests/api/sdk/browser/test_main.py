"""A first visit: the variant is shown and counted, and the visitor is known again."""

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until


def test_visitor_sees_a_variant_and_is_counted_once(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "Changed")]))
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    assert page.inner_text("h1") == "Changed"
    wait_until(lambda: site.events("exposure") and site.events("pageview"))
    (exposure,) = site.events("exposure")
    assert (exposure["experiment_id"], exposure["variant_id"]) == ("exp_000001", "var_000001b")
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert cookies == {"truelift_visitor": exposure["visitor_id"], "truelift_assigned": "000001:00001b"}


def test_returning_visitor_keeps_id_and_variant(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(thresholds=[2**32, 2**32]))
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    site.config = a_config(an_experiment())
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("exposure")) == 2)
    first, second = site.events("exposure")
    assert first["visitor_id"] == second["visitor_id"]
    assert first["variant_id"] == second["variant_id"] == "var_000001a"
