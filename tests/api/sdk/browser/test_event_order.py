"""Events keep their order: whatever the network, other tabs and the clock do."""

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from time import time
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.sending import KEPT, batches, kept, open_page, refuse
from tests.api.sdk.browser.site import Answer, Site, a_config, a_page, accepted, an_experiment
from tests.examples import in_shares
from tests.waiting import wait_until

JUMPING_CLOCK = """(() => {
  const now = Date.now.bind(Date);
  window.jump = 0;
  Date.now = () => now() + window.jump;
})()"""
YEAR = 365 * 86_400_000
# In ms. The next page waits for a pause by a clock ahead until its own clock is there, and so does the test.
JUMPS = (-YEAR, -30_000, 3_000, YEAR)


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


@pytest.mark.parametrize("seed", [0, 2, *in_shares(1, 3, 4, 5, seconds=1)])
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
            here.evaluate(f"jump = {random.choice(JUMPS)}")
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


def test_event_follows_a_request_under_way_as_a_page_a_minute_ago_ended(site: Site, page: Page) -> None:
    gate = site.gates["/api/v1/sdk/track"] = threading.Event()
    page.add_init_script(JUMPING_CLOCK)
    page.add_init_script("jump = location.search ? 60_000 : 0")
    open_page(site, page)
    wait_until(lambda: batches(site) == 1)
    page.evaluate("truelift.track('later')")
    page.goto(f"{site.base}/next")
    gate.set()
    wait_until(lambda: len(site.bodies) == 2)
    page.goto(f"{site.base}/?minute")
    wait_until(lambda: kept(page) == 0)
    ended, last = site.bodies[-2:]
    (later,) = [event["timestamp"] for event in last["batch"] if event["type"] == "custom_event"]
    assert datetime.fromisoformat(later) >= datetime.fromisoformat(ended["sent_at"]) + timedelta(seconds=30)


def test_what_earlier_pages_have_left_goes_before_what_this_page_tells(site: Site, page: Page) -> None:
    receipts = Receipts(site, Random(1), [])  # noqa: S311 - not secret
    site.answer = receipts.take
    site.config = a_config(an_experiment())
    # More than one request may carry, of half a minute ago, and at its end an order.
    page.add_init_script(
        """{
          const timestamp = new Date(Date.now() - 40_000).toISOString();
          const event = { type: "custom_event", visitor_id: "v", timestamp, event_name: "x".repeat(9_000) };
          const events = [..."abcdef"].map((event_id) => ({ ...event, event_id }));
          events.push({ ...event, event_id: "order", type: "conversion", event_name: "purchase" });
          localStorage["truelift_q.prj_1.ended.page"] = JSON.stringify([Date.now() - 40_000, ...events]);
        }"""
    )
    open_page(site, page)
    wait_until(lambda: kept(page) == 0)
    (exposure,) = site.events("exposure")
    assert receipts.times["order"] < receipts.times[exposure["event_id"]]


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


def test_clock_that_is_set_back_ages_no_later_event(site: Site, page: Page) -> None:
    site.answer = refuse(503, times=1, seconds="3600")
    page.clock.install(time="2030-01-01T00:00:00")
    open_page(site, page)
    wait_until(lambda: page.evaluate("localStorage.truelift_retry"))
    site.answer = accepted
    page.evaluate("localStorage.removeItem('truelift_retry')")
    page.clock.set_system_time("2029-01-01T00:00:00")
    page.goto(f"{site.base}/?second")
    # The first page may still send once more by the clock that it had.
    back = datetime(2029, 1, 1, tzinfo=UTC)

    def is_sent_by_that_clock() -> bool:
        times = (datetime.fromisoformat(body["sent_at"]) for body in site.bodies)
        return any(abs(sent_at - back) < timedelta(hours=1) for sent_at in times)

    wait_until(is_sent_by_that_clock)
    assert len(site.events("pageview")) == 2
    # As above, by a clock ahead of the site's.
    wait_until(lambda: kept(page) == 0)
