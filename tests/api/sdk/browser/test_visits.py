"""Visits of a page with the script of a running service: results equal what the visitors did."""

import random
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from api.app import create_app
from api.installation import snippet_html
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import Site, a_page
from tests.api.serving import served as served_app
from tests.waiting import wait_until

GOALS: list[dict[str, Any]] = [
    {"name": "Order", "goal_type": "revenue", "is_primary": True, "config": {"event_name": "purchase"}},
    {"name": "Click", "goal_type": "click", "config": {"selector": "#buy"}},
    {"name": "Sign-up", "goal_type": "custom_event", "config": {"event_name": "sign_up"}},
    {"name": "Second page", "goal_type": "pageview", "config": {"url": "/second"}},
]
BODY = '<h1>Original</h1><button id="buy">Buy</button>'
MOST_BROWSERS = 20
# Each has either variant by chance.
MOST_VISITS = 200
CHANGE = {"selector": "h1", "action": "modify_text", "value": "Changed"}


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    app = create_app(settings)
    with served_app(app, settings) as client:
        found = a_customer(client, app.state.services)
        app.state.services.catalog.accounts.update(found.account.id, rate_limit=10**6)
        yield found


@dataclass
class RunningTest:
    """A running experiment on the pages of a site."""

    customer: Customer
    site: Site
    path: str

    def results(self, field: str) -> dict[tuple[str, str], int]:
        """A number of each goal and variant, by their names."""
        data = self.customer.data_of(f"{self.path}/results")
        goals = {goal["id"]: goal["name"] for goal in self.customer.data_of(self.path)["goals"]}
        return {
            (goals[goal], variant["variant_name"]): variant[field]
            for goal, variants in data["variants"].items()
            for variant in variants
        }


@pytest.fixture
def running(customer: Customer, site: Site) -> RunningTest:
    # A page that is shown before its script comes counts nobody, as on a machine that is busy.
    patience = {"anti_flicker_timeout_ms": 10_000}
    project = customer.a_project(url=f"{site.base}/", settings=patience)
    variants = [
        {"name": "control", "is_control": True, "weight": 1},
        {"name": "changed", "weight": 1, "changes": [CHANGE]},
    ]
    path = customer.an_experiment(
        project, url="/", url_match_type="starts_with", variants=variants, goals=GOALS
    )
    assert customer.post(f"{path}/start").status_code == 200
    found = customer.services.catalog.projects.find(project.rpartition("/")[2])
    head = snippet_html(found, str(customer.client.base_url))
    site.pages["/"] = site.pages["/second"] = a_page(BODY, head=head)
    return RunningTest(customer, site, path)


def visit(page: Page, running: RunningTest, dice: random.Random, number: int) -> Counter[tuple[str, str]]:
    """Visit and do things by chance; returns what was done, by goal and the variant that was seen."""
    page.goto(f"{running.site.base}/")
    variant = {"Original": "control", "Changed": "changed"}[page.inner_text("h1")]
    done: Counter[tuple[str, str]] = Counter({("visitors", variant): 1})
    if dice.random() < 0.5:
        page.click("#buy")
        done["Click", variant] = 1
    if dice.random() < 0.5:
        page.evaluate("truelift.track('sign_up'); truelift.track('sign_up')")
        done["Sign-up", variant] = 1
    if dice.random() < 0.5:
        page.evaluate("history.pushState(null, '', '/second')")
        page.wait_for_function("location.pathname === '/second'")
        page.evaluate("new Promise((done) => setTimeout(done))")
        done["Second page", variant] = 1
    if dice.random() < 0.5:
        cents = dice.randint(1, 100_000)
        page.evaluate(f"truelift.revenue({cents}, {{ transaction_id: 'order-{number}' }})")
        done["Order", variant] = 1
        done["cents", variant] = cents
    page.goto("about:blank")
    return done


@pytest.mark.parametrize("visits", [4, pytest.param(150, marks=pytest.mark.long(seconds=60))])
def test_results_equal_what_the_visitors_did(chromium: Browser, running: RunningTest, visits: int) -> None:
    dice = random.Random(visits)  # noqa: S311 - repeatable visits
    done: Counter[tuple[str, str]] = Counter()
    browsers: deque[BrowserContext] = deque()
    names = ("control", "changed")
    for number in range(MOST_VISITS):
        if number >= visits and all(done["visitors", name] for name in names):
            break
        browsers.append(chromium.new_context(user_agent=USER_AGENT))
        done += visit(browsers[-1].new_page(), running, dice, number)
        # A browser outlives its pages: it sends what they left.
        if len(browsers) > MOST_BROWSERS:
            browsers.popleft().close()
    assert all(done["visitors", name] for name in names)

    def expected(goal: str) -> dict[tuple[str, str], int]:
        return {(goal, name): done[goal, name] for name in names}

    conversions = {key: count for goal in GOALS for key, count in expected(goal["name"]).items()}
    with suppress(TimeoutError):
        wait_until(lambda: running.results("conversions") == conversions)
    assert running.results("conversions") == conversions
    visitors = {(goal["name"], name): done["visitors", name] for goal in GOALS for name in names}
    assert running.results("visitors") == visitors
    revenue = running.results("revenue_cents")
    assert {name: revenue["Order", name] for name in names} == {name: done["cents", name] for name in names}
    for browser in browsers:
        browser.close()
