"""Pages of projects: what there is, found by name and status, page by page."""

from fastapi.testclient import TestClient

from api.dashboard.projects import PER_PAGE
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn


def test_experiments_are_found_by_name_and_status(
    customer: Customer, project: str, browser: TestClient
) -> None:
    running = customer.an_experiment(project, name="A green button")
    customer.post(f"{running}/start")
    draft = customer.an_experiment(project, name="A red button")
    assert running in browser.get(project).text
    assert draft in browser.get(project).text
    found = browser.get(f"{project}?status=running").text
    assert running in found
    assert draft not in found
    found = browser.get(f"{project}?search=red").text
    assert running not in found
    assert draft in found
    assert "No experiment fits" in browser.get(f"{project}?search=blue").text


def test_the_verdict_is_shown_where_the_key_may_read_results(
    customer: Customer, project: str, experiment: str, browser: TestClient, sign_in: SignIn
) -> None:
    assert experiment in browser.get(project).text
    assert 'class="verdict' in browser.get(project).text
    without = sign_in(customer.with_key("projects:read", "experiments:read").token).get(project)
    assert without.status_code == 200
    assert 'class="verdict' not in without.text


def test_lists_have_pages(customer: Customer, project: str, browser: TestClient) -> None:
    for number in range(PER_PAGE + 1):
        customer.an_experiment(project, name=f"Test {number}")
    first = browser.get(f"{project}?status=draft").text
    assert "Page 1 of 2" in first
    assert 'href="?status=draft&amp;page=2"' in first
    assert browser.get(f"{project}?status=draft&page=2").text.count("/experiments/exp_") == 1
    assert browser.get(f"{project}?search=test").text.count("/experiments/exp_") == PER_PAGE + 1
    assert browser.get(f"{project}?page=nonsense").status_code == 422


def test_an_empty_project_says_how_to_go_on(project: str, browser: TestClient) -> None:
    assert "No experiment yet" in browser.get(project).text
