"""The first hour in the browser is walked as its page says: each row of the table is a step in Chromium."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.dashboard.test_experiments import send_visitors
from tests.api.sdk.browser.conftest import chromium_path
from tests.api.serving import served
from tests.pasted_lines import ROOT

SECTION = (ROOT / "docs" / "first-hour.md").read_text().partition("## In the browser")[2]
STEPS = re.findall(r"^\| (press|type|read|open|wait) \| (.*?) \| ?(.*?) ?\|$", SECTION, re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Walk:
    """A customer, and the page that is signed in."""

    customer: Customer
    page: Page

    def step(self, kind: str, where: str, what: str) -> None:
        """Take one step of the table."""
        if kind == "press":
            if "Today" in what:
                self.page.click("nav >> text=Today")
            self.page.locator(f'a:text-is("{where}"), button:text-is("{where}")').first.click()
        elif kind == "type":
            self.page.get_by_label(where, exact=True).and_(self.page.locator("input")).first.fill(what)
        elif kind == "read":
            expect(self.page.get_by_text(where).first).to_be_visible(timeout=30_000)
        else:
            {"open": self.visit, "wait": self.send}[kind]()

    def visit(self) -> None:
        """Ask as the script of a page of the site does."""
        (project,) = self.customer.get("/projects").json()["data"]
        key = self.customer.data_of(f"/projects/{project['id']}/installation")["api_key"]
        headers = {"X-SDK-Key": key, "Origin": project["url"]}
        asked = self.customer.client.post("/api/v1/sdk/init", headers=headers, json={"visitor_id": "v1"})
        assert asked.status_code == 200

    def send(self) -> None:
        """Send visitors of both variants, of whom more order with the second."""
        (project,) = self.customer.get("/projects").json()["data"]
        home = f"/projects/{project['id']}/experiments"
        (experiment,) = self.customer.get(home).json()["data"]
        send_visitors(self.customer, f"{home}/{experiment['id']}", {0: (2_000, 200), 1: (2_000, 400)})
        self.page.reload()


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    settings = Settings(data_dir=tmp_path, fresh_read_seconds=60)
    app = create_app(settings)
    with served(app, settings) as client, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        page = chromium.new_page()
        customer = a_customer(client, app.state.services)
        page.goto(f"{client.base_url}/sign-in")
        page.fill("#key", customer.token)
        page.press("#key", "Enter")
        yield Walk(customer, page)
        chromium.close()


@pytest.mark.long(seconds=12)
def test_the_first_hour_in_the_browser_is_as_its_page_says(walk: Walk) -> None:
    assert len(STEPS) > 15
    for kind, where, what in STEPS:
        walk.step(kind, where, what)
    (tag,) = walk.page.locator(".verdict .tag").all_inner_texts()
    assert tag == STEPS[-1][1]
