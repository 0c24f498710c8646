"""Reviews on the dashboard: asked for, found by another member, answered, and then taken."""

import re

import httpx2
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn


def send(browser: TestClient, page: httpx2.Response, action: str, **typed: str) -> httpx2.Response:
    """Send the last form of a page, with what it hides and what is typed."""
    assert page.status_code in {200, 422}, page.text
    form = page.text.rpartition("<form method")[2] if "submission" in page.text else page.text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
    assert "form_token" in hidden
    return browser.post(page.url.path, data={**hidden, "note": "", **typed, "action": action})


def test_two_members_start_and_ship_a_test(customer: Customer, browser: TestClient, sign_in: SignIn) -> None:
    project = customer.a_project(settings={"review": "required"})
    draft, bo = customer.an_experiment(project, name="One page"), sign_in(customer.as_colleague().token)
    before = browser.get(f"{draft}/start").text
    assert ("a second member has to approve" in before, "<button>Start" in before) == (True, False)
    asked = send(browser, browser.get(f"{draft}/review"), "review", note="Checked twice.")
    assert (asked.status_code, asked.headers["location"]) == (303, f"{draft}/review")
    refused = send(browser, browser.get(f"{draft}/review"), "approve")
    assert (refused.status_code, "owner asked for the review" in refused.text) == (422, True)
    assert re.search(rf'Waits for a yes.*href="{draft}/review"', bo.get("/").text, re.DOTALL)
    assert "asks for a second member" in bo.get(draft).text
    page = bo.get(f"{draft}/review")
    assert "Checked twice." in page.text
    assert send(bo, page, "approve").status_code == 303
    assert "Waits for a yes" not in bo.get("/").text
    assert send(browser, browser.get(f"{draft}/start"), "start").status_code == 303
    assert customer.data_of(draft)["status"] == "running"
    decision = {"choice": customer.data_of(draft)["variants"][1]["id"], "note": "Better.", "rollout": "yes"}
    early = send(browser, browser.get(f"{draft}/ship"), "ship", **decision)
    assert (early.status_code, "a second member has to approve" in early.text) == (422, True)
    assert send(browser, early, "review", **decision).status_code == 303
    assert send(bo, bo.get(f"{draft}/review"), "approve").status_code == 303
    assert send(browser, browser.get(f"{draft}/ship"), "ship", **decision).status_code == 303
    assert customer.data_of(draft)["conclusion"]["decision"] == "ship"
    assert "owner asked" in bo.get(f"{draft}/review").text
