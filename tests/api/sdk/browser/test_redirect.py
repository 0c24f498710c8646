"""Redirects: counted in every arm, made before the page is seen, and never in a circle."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until


def a_redirect(target: str, **fields: Any) -> dict[str, Any]:
    pages = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
    return an_experiment(
        type="redirect", changes=[a_change("replace", target, "html")], **({"pages": pages} | fields)
    )


def serve(site: Site, *experiments: dict[str, Any], **fields: Any) -> None:
    site.config = a_config(*experiments, **fields)
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/b"] = a_page("<h1>Target</h1>", head=site.tag())


def test_visitor_is_counted_and_redirected(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b"))
    page.goto(f"{site.base}/", referer="https://search.example/")
    page.wait_for_url("**/b")
    wait_until(lambda: site.events("exposure") and len(site.events("pageview")) == 2)
    assert [event["url"] for event in site.events("exposure")] == [f"{site.base}/"]
    assert len({event["visitor_id"] for event in site.received}) == 1
    # Not a page of its own in the tab's history.
    assert page.evaluate("history.length") == 2


def test_control_is_counted_by_the_same_beacon(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b", thresholds=[2**32, 2**32]))
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    assert page.url == f"{site.base}/"
    assert site.events("exposure")[0]["variant_id"].endswith("a")
    assert page.evaluate("document.visibilityState") == "visible"
    assert page.evaluate("getComputedStyle(document.documentElement).visibility") == "visible"


@pytest.mark.parametrize("thresholds", [[0, 2**32], [2**32, 2**32]], ids=["redirected", "control"])
def test_slow_service_loses_no_exposure_of_either_arm(site: Site, page: Page, thresholds: list[int]) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    serve(site, a_redirect("/b", thresholds=thresholds))
    page.goto(f"{site.base}/")
    page.goto("about:blank")
    gate.set()
    wait_until(lambda: site.events("exposure"))


def test_referrer_before_the_redirect_is_kept(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b"), an_experiment(number=2))
    page.goto(f"{site.base}/", referer="https://search.example/")
    page.wait_for_url("**/b")
    wait_until(lambda: len(site.events("exposure")) == 2)
    referrers = [event["attributes"]["referrer"] for event in site.events("exposure")]
    assert referrers == ["https://search.example/"] * 2


def test_parameters_are_relayed(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b?own=1", relay_params=True))
    page.goto(f"{site.base}/?utm_source=mail&own=2")
    page.wait_for_url("**/b?own=1&utm_source=mail")


def test_target_that_is_a_page_of_the_experiment_is_not_left_again(site: Site, page: Page) -> None:
    everywhere = {"include": [{"match_type": "starts_with", "value": "/"}], "exclude": []}
    serve(site, a_redirect("/b?x=1", pages=everywhere))
    page.goto(f"{site.base}/")
    page.wait_for_url("**/b?x=1")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert sum(path.startswith("/b") for _, path, _ in site.requests) == 1


def test_two_experiments_that_lead_to_each_other_end(site: Site, page: Page) -> None:
    back = {"include": [{"match_type": "exact", "value": "/b"}], "exclude": []}
    serve(site, a_redirect("/b"), a_redirect("/", number=2, pages=back))
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("pageview")) == 3)
    page.wait_for_url(f"{site.base}/")
    wait_until(lambda: page.evaluate("window.truelift?.loaded"))
    pages = [path for _, path, _ in site.requests if path in {"/", "/b"}]
    assert pages == ["/", "/b", "/"]


def test_second_redirect_waits_for_a_click(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b"))
    site.pages["/b"] = a_page('<a href="/">Back</a>', head=site.tag())
    page.goto(f"{site.base}/")
    page.wait_for_url("**/b")
    page.goto(f"{site.base}/")
    wait_until(lambda: page.evaluate("window.truelift?.loaded"))
    assert page.url == f"{site.base}/"
    page.goto(f"{site.base}/b")
    page.click("a")
    page.wait_for_url("**/b")


def test_id_is_handed_to_another_domain_of_the_project(site: Site, page: Page) -> None:
    # The service's host serves pages, too.
    other = f"{site.service}/b"
    serve(site, a_redirect(other), hosts=["localhost", "127.0.0.1"])
    page.goto(f"{site.base}/")
    page.wait_for_url(f"{site.service}/b**")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len({event["visitor_id"] for event in site.received}) == 1
    assert page.url == other


def test_id_is_handed_over_by_a_link(site: Site, page: Page) -> None:
    serve(site, hosts=["localhost", "127.0.0.1"])
    site.pages["/"] = a_page(f'<a href="{site.service}/b">Shop</a>', head=site.tag())
    page.goto(f"{site.base}/")
    page.click("a")
    page.wait_for_url(f"{site.service}/b")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len({event["visitor_id"] for event in site.received}) == 1


def test_id_from_a_stranger_is_not_taken(site: Site, page: Page) -> None:
    serve(site, hosts=["localhost", "127.0.0.1"])
    page.goto(f"{site.base}/")
    time = page.evaluate("Math.floor(Date.now() / 1000).toString(36)")
    page.goto(f"{site.base}/?_tl=a-strangers-id.{time}", referer="https://stranger.example/")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len({event["visitor_id"] for event in site.received}) == 1
    assert page.url == f"{site.base}/"


def test_query_arrives_as_it_was_written_and_the_fragment_of_the_page_with_it(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b", relay_params=True))
    page.goto(f"{site.base}/?q=a%20b&flag&t=~x&e=%E9#part")
    page.wait_for_url("**/b**")
    assert page.url == f"{site.base}/b?q=a%20b&flag&t=~x&e=%E9#part"


NO_SESSION = """for (const name of ["sessionStorage", "localStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("denied") } })"""


def test_redirects_end_where_storage_throws(site: Site, page: Page) -> None:
    page.add_init_script(NO_SESSION)
    back = {"include": [{"match_type": "exact", "value": "/b"}], "exclude": []}
    serve(site, a_redirect("/b"), a_redirect("/", number=2, pages=back))
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("pageview")) == 3)
    wait_until(lambda: page.evaluate("window.truelift?.loaded"))
    assert [path for _, path, _ in site.requests if path in {"/", "/b"}] == ["/", "/b", "/"]


@pytest.mark.parametrize("thresholds", [[0, 2**32], [2**32, 2**32]], ids=["redirected", "control"])
def test_where_nothing_can_be_kept_nobody_is_redirected_or_counted(
    site: Site, page: Page, thresholds: list[int]
) -> None:
    page.add_init_script(f"{NO_SESSION}; window.name ||= 'of the page'")
    serve(site, a_redirect("/b", thresholds=thresholds))
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview"))
    assert page.evaluate("truelift.variant('test-1')") is None
    assert site.events("exposure") == []
    assert page.url == f"{site.base}/"


def test_analytics_get_the_referrer_before_the_redirect(site: Site, page: Page) -> None:
    serve(site, a_redirect("/b"), integrations={"ga4": "G-1", "gtm": True})
    page.goto(f"{site.base}/", referer="https://search.example/")
    page.wait_for_url("**/b")
    wait_until(lambda: len(site.events("pageview")) == 2)
    told = page.evaluate("dataLayer.map((one) => one[0] ? [...one] : one)")
    referrer = {"page_referrer": "https://search.example/"}
    assert told[:2] == [["set", referrer], referrer]
