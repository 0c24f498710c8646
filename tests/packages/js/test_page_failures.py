"""The client of a page, in Chromium, whose service fails: the original is shown, and no event is lost."""

import pytest
from playwright.sync_api import Page, Route

from tests.api.sdk.browser.site import Site, a_config, a_page, refusing
from tests.packages.js.installed import Installed
from tests.packages.js.pages import KEPT, a_flag, begin, open_page
from tests.waiting import wait_until


def test_dead_service_shows_the_original_and_throws_nothing(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag())
    open_page(site, page, package)
    page.route("**/api/v1/sdk/**", lambda route: route.abort())
    begin(page)
    assert page.evaluate("[client.variant('test-1'), client.value('test-1', 3)]") == [None, 3]
    page.evaluate("client.track('early'); void client.subscribe(() => (window.changed = true))")
    assert page.evaluate("failures.length") == 1
    page.unroute("**/api/v1/sdk/**")
    # It asks again by itself.
    page.wait_for_function("window.changed")
    assert page.evaluate("client.variant('test-1').index") == 1
    wait_until(lambda: site.events("custom_event"))
    assert [event["event_name"] for event in site.events("custom_event")] == ["early"]


def test_slow_service_is_waited_for_no_longer_than_asked(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag())
    open_page(site, page, package)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/sdk/config**", hold)
    begin(page, timeoutMs=50)
    assert page.evaluate("client.peek('test-1')") is None
    wait_until(lambda: bool(held))
    held[0].continue_()
    page.wait_for_function("client.peek('test-1')?.index === 1")


@pytest.mark.parametrize(
    ("status", "headers"), [(503, {"Retry-After": "1"}), (429, {"Retry-After": "1"}), (0, {})], ids=str
)
def test_two_clients_and_a_failing_service_count_each_event_once(
    site: Site, page: Page, package: Installed, status: int, headers: dict[str, str]
) -> None:
    site.config = a_config(a_flag())
    site.answer = refusing(status, times=1, **headers)
    open_page(site, page, package)
    begin(page)
    page.evaluate("window.other = make({}); other.ready")
    page.evaluate(
        """() => {
          for (let number = 0; number < 500; number++) {
            client.track(`a${number}`);
            other.track(`b${number}`);
          }
        }"""
    )
    wait_until(lambda: len(site.events("custom_event")) == 1000)
    wait_until(lambda: not page.evaluate(KEPT))
    assert len({event["event_name"] for event in site.events("custom_event")}) == 1000
    assert len({event["visitor_id"] for event in site.received}) == 1


def test_events_of_a_page_that_ends_and_of_a_former_key_arrive(
    site: Site, page: Page, package: Installed
) -> None:
    site.answer = refusing(401, times=1)
    open_page(site, page, package)
    begin(page)
    page.evaluate("client.track('kept')")
    wait_until(lambda: len(site.bodies) == 1)
    site.config = a_config(sdk_key="pk_next")
    site.pages["/next"] = a_page()
    page.evaluate("client.track('last')")
    page.goto(f"{site.base}/next")
    open_page(site, page, package)
    page.evaluate("localStorage.removeItem('truelift_retry')")
    begin(page, sdkKey="pk_next")
    wait_until(lambda: len(site.events("custom_event")) == 2)
    assert {event["event_name"] for event in site.events("custom_event")} == {"kept", "last"}
