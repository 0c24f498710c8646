"""Page of projects: those that the key reaches, page by page."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer


def test_projects_are_listed_with_what_runs(customer: Customer, experiment: str, browser: TestClient) -> None:
    customer.a_project(name="Second shop")
    page = browser.get("/projects").text
    assert experiment.partition("/experiments")[0] in page
    assert "Second shop" in page
    assert "1 running" in page
