"""Events reach the service once: over failures, tabs, and the ends of pages."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Answer, Site, a_page, accepted
from tests.waiting import wait_until

KEPT = "Object.keys(localStorage).filter((name) => name.startsWith('truelift_q.'))"


def open_page(site: Site, page: Page) -> None:
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/next"] = a_page("<h1>Next</h1>")
    page.goto(f"{site.base}/")


def kept(page: Page) -> int:
    return int(page.evaluate(f"{KEPT}.length"))


def batches(site: Site) -> int:
    return sum(path.startswith("/api/v1/sdk/track") for _, path, _ in site.requests)


def refuse(status: int, *, times: int, seconds: str = "") -> Any:
    """An answer of the service: refuses the first requests."""
    left = [times]

    def answer(events: list[dict[str, Any]]) -> Answer:
        left[0] -= 1
        if left[0] < 0:
            return accepted(events)
        return status, {"Retry-After": seconds} if seconds else {}, "{}"

    return answer


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


@pytest.mark.parametrize(("status", "seconds"), [(503, "1"), (429, "1"), (500, ""), (408, "")], ids=str)
def test_refused_events_are_sent_again(site: Site, page: Page, status: int, seconds: str) -> None:
    site.answer = refuse(status, times=1, seconds=seconds)
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


@pytest.mark.parametrize("status", [400, 401, 402, 403])
def test_requests_end_where_they_cannot_succeed(site: Site, page: Page, status: int) -> None:
    site.answer = refuse(status, times=1)
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    page.evaluate("truelift.track('later')")
    page.evaluate("new Promise((done) => navigator.locks.request('truelift_test', done))")
    assert kept(page) == 2
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


def test_events_are_bounded_and_conversions_outlive_clicks(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=10**9, seconds="3600")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    page.evaluate("truelift.convert({ event_name: 'purchase' })")
    page.evaluate("for (let i = 0; i < 250; i++) truelift.track(`event-${i}`)")
    assert kept(page) == 200
    page.evaluate("for (let i = 0; i < 30; i++) truelift.track('x'.repeat(9000))")
    sizes = page.evaluate(f"{KEPT}.map((name) => localStorage[name].length)")
    assert 80_000 < sum(sizes) <= 100_000


def test_events_are_dropped_after_a_week(site: Site, page: Page) -> None:
    site.pages["/old"] = a_page()
    page.goto(f"{site.base}/old")
    page.evaluate(
        """() => {
          const days = (count) => (Date.now() - count * 86_400_000).toString(36);
          const event = (id) => JSON.stringify({ event_id: id, type: "custom_event", visitor_id: "v" });
          localStorage[`truelift_q.pk_test.${days(8)}.old`] = event("old");
          localStorage[`truelift_q.pk_test.${days(6)}.new`] = event("new");
        }"""
    )
    open_page(site, page)
    wait_until(lambda: kept(page) == 0)
    assert [event["event_id"] for event in site.events("custom_event")] == ["new"]


def test_two_tabs_send_every_event_and_one_at_a_time(site: Site, page: Page) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    other = page.context.new_page()
    other.goto(f"{site.base}/")
    for number in range(5):
        page.evaluate(f"truelift.track('first-{number}')")
        other.evaluate(f"truelift.track('second-{number}')")
    assert batches(site) == 1
    gate.set()
    wait_until(lambda: kept(page) == 0)
    assert len(site.events("custom_event")) == 10
    ids = [event["event_id"] for event in site.received]
    assert len(ids) == len(set(ids))


def test_browser_without_storage_still_reports(site: Site, page: Page) -> None:
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied') } })"
    )
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))


def test_event_that_waited_for_a_slow_request_seems_no_earlier_than_it(site: Site, page: Page) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    sent: list[dict[str, Any]] = []
    site.bodies = sent
    page.clock.set_fixed_time("2100-01-01T00:00:00")
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    page.evaluate("truelift.track('soon')")
    page.clock.set_fixed_time("2100-01-01T00:00:20")
    gate.set()
    wait_until(lambda: len(sent) == 2)
    first, second = sent
    between = page.evaluate("([a, b]) => Date.parse(b.sent_at) - Date.parse(a.sent_at)", [first, second])
    age = "({ sent_at, batch }) => Date.parse(sent_at) - Date.parse(batch[0].timestamp)"
    # It waited for 20 s, as long as the first request took, which is of no account.
    assert page.evaluate(age, second) < 300
    assert between >= 0
    # What is kept at the end goes by beacon, and seems to belong to the next test by this page's clock.
    wait_until(lambda: kept(page) == 0)


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


def test_clock_that_is_set_back_ages_no_later_event(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1, seconds="3600")
    page.clock.install(time="2030-01-01T00:00:00")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    site.answer = accepted
    page.evaluate("localStorage.removeItem('truelift_retry')")
    page.clock.set_system_time("2029-01-01T00:00:00")
    page.goto(f"{site.base}/?second")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert site.bodies[-1]["sent_at"].startswith("2029-01-01")
    # As above, by a clock ahead of the site's.
    wait_until(lambda: kept(page) == 0)


@pytest.mark.parametrize(
    "refusal", ["Promise.reject(new DOMException('no', 'SecurityError'))", "undefined()"]
)
def test_events_are_sent_where_locks_are_refused(site: Site, page: Page, refusal: str) -> None:
    page.add_init_script(f"navigator.locks.request = () => {refusal}")
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))
    wait_until(lambda: kept(page) == 0)
