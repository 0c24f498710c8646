"""Events reach the service once: over failures, tabs, and the ends of pages."""

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from time import time
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Answer, Site, a_config, a_page, accepted, an_experiment
from tests.waiting import wait_until

KEPT = """Object.keys(localStorage).filter((name) => name.startsWith('truelift_q.'))
  .flatMap((name) => JSON.parse(localStorage[name]).slice(1))"""


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
    site.answer = refuse(503, times=1, seconds="1")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    page.evaluate("truelift.consent(false)")
    page.evaluate("truelift.consent(true)")
    page.evaluate("truelift.track('after')")
    wait_until(lambda: site.events("custom_event"))
    assert [event["type"] for event in site.received if event["type"] != "pageview"] == ["custom_event"]
    assert len({event["visitor_id"] for event in site.received}) == 1


def test_browser_without_storage_still_reports(site: Site, page: Page) -> None:
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied') } })"
    )
    open_page(site, page)
    wait_until(lambda: site.events("pageview"))


JUMPING_CLOCK = """(() => {
  const now = Date.now.bind(Date);
  window.jump = 0;
  Date.now = () => now() + window.jump;
})()"""


@dataclass
class Receipts:
    """When the service takes events to have happened, by the formula of `sent_at`."""

    site: Site
    random: Random
    delays: list[float]
    times: dict[str, float] = field(default_factory=dict)

    def take(self, events: list[dict[str, Any]]) -> Answer:
        received, sent_at = time(), datetime.fromisoformat(self.site.bodies[-1]["sent_at"]).timestamp()
        for event in events:
            age = sent_at - datetime.fromisoformat(event["timestamp"]).timestamp()
            self.times.setdefault(event["event_id"], received - age)
        return accepted(events)

    def wait(self) -> None:
        # The network's time, not the test's: the request is on its way meanwhile.
        threading.Event().wait(self.delays.pop(0) if self.delays else self.random.random() * 0.2)


@pytest.mark.parametrize("seed", range(6))
def test_orders_follow_the_exposures_before_them_whatever_the_network_does(
    site: Site, page: Page, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - a draw of delays
    receipts = Receipts(site, random, [random.choice([0.0, 0.4, 0.8])])
    site.answer, site.before_track = receipts.take, receipts.wait
    site.config = a_config(an_experiment())
    page.add_init_script(JUMPING_CLOCK)
    open_page(site, page)
    other = page.context.new_page()
    for number in range(4):
        here = random.choice([page, other])
        if random.random() < 0.3:
            here.goto(f"{site.base}/?{number}")
        if random.random() < 0.3:
            here.evaluate(f"jump = {random.choice([-1, 1]) * random.choice([30_000, 365 * 86_400_000])}")
        here.evaluate(f"typeof truelift === 'function' && truelift.revenue({number}, {{}})")
        here.evaluate(f"new Promise((done) => setTimeout(done, {random.random() * 200}))")
    orders = len(site.events("conversion"))
    page.goto(f"{site.base}/?end")
    other.goto(f"{site.base}/?end")
    wait_until(lambda: page.evaluate(f"{KEPT}.length") == 0)
    exposed = min(receipts.times[event["event_id"]] for event in site.events("exposure"))
    sold = [receipts.times[event["event_id"]] for event in site.events("conversion")]
    assert len(sold) >= orders
    assert sold
    assert min(sold) >= exposed - 0.001
    # Events of this test are of its last seconds, also where a clock was put a year on.
    assert max(sold) - exposed < 60


def test_order_of_another_tab_follows_the_exposure_that_is_still_on_its_way(site: Site, page: Page) -> None:
    receipts = Receipts(site, Random(1), [1.0, 0.0])  # noqa: S311 - not secret
    site.answer, site.before_track = receipts.take, receipts.wait
    here = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
    site.config = a_config(an_experiment(pages=here))
    open_page(site, page)
    wait_until(lambda: not receipts.delays[1:])
    other = page.context.new_page()
    site.pages["/cart"] = site.pages["/"]
    other.goto(f"{site.base}/cart")
    other.evaluate("truelift.revenue(1999, { transaction_id: '1' })")
    wait_until(lambda: other.evaluate(f"{KEPT}.length") == 0)
    (exposure,), (order,) = site.events("exposure"), site.events("conversion")
    assert receipts.times[order["event_id"]] >= receipts.times[exposure["event_id"]]


def test_event_does_not_seem_earlier_than_one_that_took_longer(site: Site, page: Page) -> None:
    receipts = Receipts(site, Random(1), [0.6, 0.6, 0.0])  # noqa: S311 - not secret
    site.answer, site.before_track = receipts.take, receipts.wait
    open_page(site, page)
    wait_until(lambda: kept(page) == 0)
    for number in range(2):
        page.evaluate(f"truelift.track('event-{number}')")
    wait_until(lambda: kept(page) == 0)
    first, second = sorted(site.events("custom_event"), key=lambda event: event["event_name"])
    assert receipts.times[first["event_id"]] < receipts.times[second["event_id"]]


def test_what_the_page_told_before_the_script_came_follows_the_exposure(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment())
    site.answer = refuse(503, times=1)
    site.pages["/"] = a_page(head=f"{site.tag()}<script>truelift('track', 'early')</script>")
    # A request of another tab is on its way, so that events are moved ahead of the clock.
    page.add_init_script("localStorage.truelift_sent = Date.now() + 1000")
    page.goto(f"{site.base}/")
    wait_until(lambda: kept(page) == 0)
    batches = [{event["type"]: event["timestamp"] for event in body["batch"]} for body in site.bodies]
    both = [times for times in batches if {"exposure", "custom_event"} <= times.keys()]
    assert both
    assert all(times["exposure"] < times["custom_event"] for times in both)


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
    sent_at = datetime.fromisoformat(site.bodies[-1]["sent_at"])
    assert abs(sent_at - datetime(2029, 1, 1, tzinfo=UTC)) < timedelta(hours=1)
    # As above, by a clock ahead of the site's.
    wait_until(lambda: kept(page) == 0)
