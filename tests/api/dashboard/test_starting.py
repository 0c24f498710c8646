"""The start of an experiment: checks, previews, and a question before a test that changes nothing."""

import html
import re

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token
from tests.api.dashboard.drafts.test_draft_pages import send


def test_a_test_of_nothing_is_asked_about_once_it_is(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project)
    page = browser.get(f"{path}/start")
    assert "Each variant has a change." in page.text
    # In another tab the change is removed: the form that was open did not ask.
    variants = customer.data_of(path)["variants"]
    customer.patch(path, {"variants": [{**one, "changes": []} for one in variants]})
    asked = browser.post(f"{path}/start", data={"form_token": form_token(page)})
    assert asked.status_code == 409
    assert "changes nothing on the page" in asked.text
    assert customer.data_of(path)["status"] == "draft"
    answered = {"form_token": form_token(asked), "accepted": "unchanged_variants"}
    assert '<input type="hidden" name="accepted" value="unchanged_variants">' in asked.text
    assert browser.post(f"{path}/start", data=answered).status_code == 303
    assert customer.data_of(path)["status"] == "running"
    # A second time it runs already, which is said.
    assert browser.post(f"{path}/start", data=answered).status_code == 422


def test_what_is_missing_leads_to_the_form(customer: Customer, project: str, browser: TestClient) -> None:
    path = customer.an_experiment(project, goals=[])
    page = browser.get(f"{path}/start").text
    assert "Missing: " in page
    assert "<button>Start" not in page
    assert f'<a class="button" href="{path}/edit">Edit</a>' in page


def test_a_draft_shows_its_variants_and_goes_on_to_its_start(
    customer: Customer, project: str, browser: TestClient
) -> None:
    new = browser.get(f"{project}/experiments/new")
    assert "stand here once it is saved" in new.text
    typed = {"name": "Free returns", "goals[0]__name": "Order", "goals[0]__config__event_name": "order"}
    answer = send(browser, new, "start", **typed)
    assert answer.status_code == 303, answer.text
    start = answer.headers["location"]
    path = start.removesuffix("/start")
    assert path != start
    for address in (start, f"{path}/edit"):
        text = html.unescape(browser.get(address).text)
        ids = re.findall(r"https://shop\.example/?\?truelift_preview=(exp_\w+:\w+)\"", text)
        variants = customer.data_of(path)["variants"]
        assert ids == [f"{path.rsplit('/', 1)[1]}:{one['id']}" for one in variants]
    # What is wrong is said in the form, and nothing starts.
    refused = send(browser, browser.get(f"{path}/edit"), "start", name="")
    assert (refused.status_code, 'id="problem-name"' in refused.text) == (422, True)
    assert send(browser, browser.get(f"{path}/edit"), "start").headers["location"] == start


def test_a_key_that_writes_no_experiments_starts_none(
    customer: Customer, project: str, sign_in: SignIn
) -> None:
    path = customer.an_experiment(project)
    reader = sign_in(customer.with_key("projects:read", "experiments:read", "results:read").token)
    assert reader.get(f"{path}/start").status_code == 403
