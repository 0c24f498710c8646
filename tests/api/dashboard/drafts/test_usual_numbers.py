"""Usual numbers: a new draft is planned by those of the newest test that has enough."""

import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.drafts.test_draft_pages import fields_of, send
from tests.api.dashboard.listed_shop import EARLY, SHIP, Counts, fill

# Twelve visitors are not enough to go by, however new the test is.
FEW: Counts = ((6, 6), (1, 2))
SHOP = (("Few", "running", FEW, False), ("Checkout", "running", SHIP, True))


def test_a_new_draft_starts_with_the_numbers_of_the_newest_test(
    customer: Customer, project: str, browser: TestClient, sign_in: SignIn
) -> None:
    empty = browser.get(f"{project}/experiments/new")
    assert fields_of(empty)["plan.baseline_rate"] == ""
    assert "Filled in from" not in empty.text
    fill(customer, project, SHOP)
    page = browser.get(f"{project}/experiments/new")
    fields = fields_of(page)
    # 2,180 of 40,000 visitors of some ten days.
    assert fields["plan.baseline_rate"] == "5.45"
    assert 3_500 < float(fields["plan.daily_visitors"]) < 4_001
    assert "Filled in from “Checkout”: 5.45% for Purchase" in page.text
    assert 'class="big"' in page.text
    assert "Its numbers are not saved with the draft." in page.text
    # What was saved is shown as it was, and planned by the same numbers again.
    smallest = {"statistics.minimum_effect_percent": "4", "plan.baseline_rate": "7"}
    saved = send(
        browser,
        page,
        name="Next",
        **smallest,
        **{"goals[0].name": "Buys", "goals[0].config.event_name": "buy"},
    )
    again = fields_of(browser.get(f"{saved.headers['location']}/edit"))
    assert (again["statistics.minimum_effect_percent"], again["plan.baseline_rate"]) == ("4", "5.45")
    # A test that takes half of the visitors has seen half of them.
    listed = customer.get(f"{project}/experiments").json()["data"]
    test = next(one["id"] for one in listed if one["name"] == "Checkout")
    customer.post(f"{project}/experiments/{test}/pause")
    assert customer.patch(f"{project}/experiments/{test}", {"traffic_allocation": 50}).status_code == 200
    half = fields_of(browser.get(f"{project}/experiments/new"))
    assert float(half["plan.daily_visitors"]) == pytest.approx(
        2 * float(fields["plan.daily_visitors"]), rel=0.01
    )
    # What is typed stays, and a row that is added fills in nothing.
    added = send(browser, page, "add:goals", plan__baseline_rate="", plan__daily_visitors="")
    assert fields_of(added)["plan.baseline_rate"] == ""
    # A key that reads no results learns none of them.
    writer = sign_in(customer.with_key("projects:read", "experiments:read", "experiments:write").token)
    answer = writer.get(f"{project}/experiments/new")
    assert "Filled in from" not in answer.text
    assert "5.45" not in answer.text


def test_a_test_of_few_visitors_is_no_measure(customer: Customer, project: str, browser: TestClient) -> None:
    fill(customer, project, (("Few", "running", FEW, False),))
    assert "Filled in from" not in browser.get(f"{project}/experiments/new").text
    fill(customer, project, (("Early", "running", EARLY, False),))
    assert "Filled in from “Early”" in browser.get(f"{project}/experiments/new").text
