"""Events reach the service once: over failures, tabs, and the ends of pages."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.sending import KEPT, batches, kept, open_page, refuse
from tests.api.sdk.browser.site import Answer, Site, a_page, accepted
from tests.examples import in_shares
from tests.waiting import wait_until


def test_event_is_forgotten_once_the_service_has_it(site: Site, page: Page) -> None:
    open_page(site, page)
    page.evaluate("truelift.track('signup', { value: 2 })")
    wait_until(lambda: kept(page) == 0)
    (event,) = site.events("custom_event")
    assert (event["event_name"], event["value"]) == ("signup", 2)


def test_requests_need_no_preflight(site: Site, page: Page) -> None:
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
    assert {method for method, path, _ in site.requests if "/sdk/track" in path} == {"POST"}


@pytest.mark.parametrize("status", [503, 500, *in_shares(429, 408, seconds=1)])
def test_refused_events_are_sent_again(site: Site, page: Page, status: int) -> None:
    site.answer = refuse(status, times=1, seconds="1" if status in {503, 429} else "")
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
    wait_until(lambda: kept(page) == 0)
    assert batches(site) == 2


def test_pause_that_the_service_asks_for_holds_on_the_next_page(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1, seconds="3600")
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    page.goto(f"{site.base}/?second")
    wait_until(lambda: kept(page) == 2)
    # The end of a page is the exception: what it has may not wait for a next one.
    page.evaluate("localStorage.removeItem('truelift_retry')")
    page.goto(f"{site.base}/?third")
    wait_until(lambda: kept(page) == 0)
    assert len(site.events("pageview")) == 3


def test_page_left_in_a_pause_sends_also_what_the_page_before_has_left(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=2, seconds="3600")
    open_page(site, page)
    page.evaluate("truelift.track('first')")
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    page.goto(f"{site.base}/?second")
    wait_until(lambda: batches(site) == 2)
    # The beacon of the first page was refused; this page sends nothing while it lasts.
    page.goto(f"{site.base}/next")
    wait_until(lambda: site.events("custom_event"))
    assert {event["url"] for event in site.events("pageview")} == {f"{site.base}/", f"{site.base}/?second"}
    assert batches(site) == 3


@pytest.mark.parametrize("status", [400, 401, *in_shares(402, 403, seconds=1)])
def test_requests_end_where_they_cannot_succeed(site: Site, page: Page, status: int) -> None:
    site.answer = refuse(status, times=1)
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    page.evaluate("truelift.track('later')")
    wait_until(lambda: kept(page) == 2)
    assert batches(site) == 1


def test_large_batch_is_divided(site: Site, page: Page) -> None:
    def answer(events: list[dict[str, Any]]) -> Answer:
        return accepted(events) if len(events) <= 3 else (413, {}, "{}")

    site.answer = answer
    open_page(site, page)
    page.evaluate("for (let i = 0; i < 20; i++) truelift.track(`event-${i}`)")
    wait_until(lambda: kept(page) == 0)
    assert len(site.events("custom_event")) == 20


def test_dead_service_leaves_the_page_alone_and_the_events_for_later(site: Site, page: Page) -> None:
    site.answer = lambda _: None
    open_page(site, page)
    page.evaluate("truelift.convert({ event_name: 'purchase', transaction_id: '1' })")
    wait_until(lambda: batches(site) >= 1)
    page.goto(f"{site.base}/next")
    site.answer = accepted
    page.evaluate("localStorage.removeItem('truelift_retry')")
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("conversion"))


def test_answer_of_something_else_than_the_service_is_no_verdict(site: Site, page: Page) -> None:
    site.answer = lambda _: (200, {"Content-Type": "text/html"}, "<title>Log in to this network</title>")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    assert kept(page) == 1


def test_conversion_as_the_page_ends_arrives(site: Site, page: Page) -> None:
    open_page(site, page)
    wait_until(lambda: kept(page) == 0)
    page.evaluate(
        """() => addEventListener("pagehide", () => truelift.revenue(1999, { transaction_id: "1" }), true)"""
    )
    page.goto(f"{site.base}/next")
    wait_until(lambda: site.events("conversion"))
    assert site.events("conversion")[0]["revenue_cents"] == 1999


def test_slow_service_gets_what_the_page_recorded_before_its_end(site: Site, page: Page) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    page.evaluate("truelift.convert({ event_name: 'purchase' })")
    page.goto(f"{site.base}/next")
    gate.set()
    wait_until(lambda: site.events("conversion") and site.events("pageview"))


def test_the_next_page_gets_the_newest_events_without_views_and_this_one_loses_none(
    site: Site, page: Page
) -> None:
    site.answer = refuse(503, times=10**9, seconds="1")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    page.evaluate("for (let i = 0; i < 60; i++) truelift.track(`${i}-${'x'.repeat(9000)}`)")
    names = page.evaluate(f"{KEPT}.map(({{ type, event_name }}) => event_name?.split('-')[0] ?? type)")
    assert 50 < len(names) < 56
    assert names == [f"{number}" for number in range(60 - len(names), 60)]
    site.answer = accepted
    wait_until(lambda: len(site.events("custom_event")) == 60)
    assert len(site.events("pageview")) == 1


def test_a_thousand_events_of_one_task_arrive(site: Site, page: Page) -> None:
    open_page(site, page)
    page.evaluate("for (let i = 0; i < 1000; i++) truelift.track(`event-${i}`)")
    wait_until(lambda: len(site.events("custom_event")) == 1000)
    wait_until(lambda: kept(page) == 0)
    assert batches(site) < 10


def test_events_outlive_a_change_of_the_key_and_of_the_script(site: Site, page: Page) -> None:
    site.pages["/old"] = a_page()
    page.goto(f"{site.base}/old")
    event = "(id) => ({ event_id: id, type: 'custom_event', visitor_id: 'v' })"
    page.evaluate(
        f"""() => {{
          const event = {event};
          // By another key of the project a week ago, and one event as a former script wrote it.
          const waited = [Date.now() - 7 * 864e5, event("1"), event("2")];
          localStorage["truelift_q.prj_1.tab.page"] = JSON.stringify(waited);
          localStorage["truelift_q.pk_test.lx0abc.3"] = JSON.stringify(event("3"));
          localStorage["truelift_q.prj_1.broken.page"] = "[1";
          localStorage["truelift_q.prj_1.others.page"] = "[1, null, 5, [2]]";
          localStorage["truelift_q.pk_test.others"] = "[]";
        }}"""
    )
    open_page(site, page)
    wait_until(lambda: kept(page) == 0)
    assert {event["event_id"] for event in site.events("custom_event")} == {"1", "2", "3"}


def test_two_tabs_send_all_events_and_those_of_a_tab_that_has_ended(site: Site, page: Page) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    other = page.context.new_page()
    other.add_init_script(
        """localStorage["truelift_q.prj_1.ended.page"] ??= JSON.stringify(
          [Date.now() - 40_000, { event_id: "left", type: "custom_event", visitor_id: "v" }])"""
    )
    other.goto(f"{site.base}/")
    for number in range(5):
        page.evaluate(f"truelift.track('first-{number}')")
        other.evaluate(f"truelift.track('second-{number}')")
    gate.set()
    wait_until(lambda: kept(page) == 0)
    assert len(site.events("custom_event")) == 11


def test_what_waits_is_forgotten_with_the_consent(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1, seconds="2")
    open_page(site, page)
    page.wait_for_function("localStorage.truelift_retry")
    page.evaluate("truelift.consent(false); truelift.consent(true); truelift.track('after')")
    wait_until(lambda: site.events("custom_event"))
    assert [event["type"] for event in site.received if event["type"] != "pageview"] == ["custom_event"]
    assert len({event["visitor_id"] for event in site.received}) == 1


def test_browser_without_storage_still_reports(site: Site, page: Page) -> None:
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied') } })"
    )
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))


@pytest.mark.parametrize("size", [33_000, 70_000, 120_000])
def test_event_that_is_too_large_is_told_and_holds_nothing_up(site: Site, page: Page, size: int) -> None:
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
    site.answer = refuse(503, times=1)
    page.evaluate("truelift.revenue(1999, { transaction_id: '1' })")
    page.evaluate(f"truelift.track('large', {{ attributes: {{ text: 'x'.repeat({size}) }} }})")
    wait_until(lambda: site.events("conversion"))
    wait_until(lambda: kept(page) == 0)
    assert not site.events("custom_event")
    told = page.evaluate("new Promise((done) => truelift.on('error', done))")
    assert "32768 bytes" in told["message"]


def test_pause_of_a_negative_time_is_none_at_all(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1_000, seconds="-5")
    open_page(site, page)
    wait_until(lambda: page.evaluate("Number(localStorage.truelift_retry) > 0"))
    assert page.evaluate("localStorage.truelift_retry - Date.now() > -500")
    assert batches(site) == 1


def test_pause_beyond_an_hour_is_shortened(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1, seconds="9999999999")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    assert page.evaluate("localStorage.truelift_retry - Date.now() <= 3600e3")


def test_clock_that_was_ahead_once_stops_nothing(site: Site, page: Page) -> None:
    page.add_init_script("localStorage.truelift_retry = Date.now() + 365 * 864e5")
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
