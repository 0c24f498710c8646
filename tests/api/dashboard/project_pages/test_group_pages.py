"""Pages of exclusion groups: created, renamed and deleted, with what is taken and free."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.project_pages.sent_forms import send

HOSTILE = "<script>alert(1)</script>"


def test_a_group_is_created_renamed_and_shown_with_its_use(
    browser: TestClient, customer: Customer, project: str
) -> None:
    assert "No group yet" in browser.get(f"{project}/groups").text
    page = browser.get(f"{project}/groups/new")
    refused = send(browser, page, {"name": ""})
    assert (refused.status_code, 'id="problem-name"' in refused.text) == (422, True)
    answers = [send(browser, refused, {"name": HOSTILE}) for _ in range(2)]
    assert [one.headers.get("location") for one in answers] == [f"{project}/groups?saved=yes"] * 2
    (group,) = customer.get(f"{project}/groups").json()["data"]
    path = f"{project}/groups/{group['id']}"
    taken = {"group": {"id": group["id"], "percent": 30}, "scheduled_end_at": "2099-01-01T00:00:00Z"}
    test = customer.an_experiment(project, name="One-page checkout", **taken)
    assert "It takes 30% of “&lt;script&gt;" in browser.get(f"{test}/start").text
    customer.post(f"{test}/start")
    text = browser.get(f"{project}/groups").text
    assert HOSTILE not in text
    assert 'aria-label="30% taken, 70% free"' in text
    assert "One-page checkout" in text
    assert "the visitors of a group" in browser.get(test).text
    assert "These have slots of it: One-page checkout" in browser.get(f"{path}/delete").text
    assert send(browser, browser.get(path), {"name": "Checkout"}).status_code == 303
    assert customer.data_of(path)["name"] == "Checkout"
    late = customer.an_experiment(project, group={"id": group["id"], "percent": 80})
    assert "80% of &#39;Checkout&#39; is asked for, and 70% is free" in browser.get(f"{late}/start").text
    customer.post(f"{test}/complete")
    assert send(browser, browser.get(f"{path}/delete"), {}).status_code == 303
    assert "No group yet" in browser.get(f"{project}/groups").text
