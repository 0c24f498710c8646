"""Steps of a project's settings: a new public key, the end of earlier ones, and deletion by name."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import send


def test_the_public_key_is_replaced_once_and_earlier_ones_are_ended(
    browser: TestClient, customer: Customer, project: str
) -> None:
    step = f"{project}/settings/rotate_sdk_key"
    refused = send(browser, browser.get(step), {"grace_period_hours": "long"})
    assert refused.status_code == 422
    assert 'id="problem-grace_period_hours"' in refused.text
    answers = [send(browser, refused, {"grace_period_hours": "24"}) for _ in range(2)]
    assert [one.headers.get("location") for one in answers] == [f"{project}/installation"] * 2
    keys = customer.data_of(f"{project}/sdk_keys")
    (earlier,) = keys["previous"]
    shown = browser.get(f"{project}/settings").text
    assert keys["api_key"] in shown
    assert earlier["api_key"] in shown
    ended = send(browser, browser.get(f"{project}/settings/expire_sdk_keys"), {})
    assert ended.status_code == 303
    assert customer.data_of(f"{project}/sdk_keys")["previous"] == []
    assert browser.get(f"{project}/settings/explode").status_code == 404


def test_a_project_is_deleted_by_its_name_only(browser: TestClient, customer: Customer, project: str) -> None:
    page = browser.get(f"{project}/settings/delete")
    refused = send(browser, page, {"project_name": "Another"})
    assert refused.status_code == 422
    assert 'id="problem-project_name"' in refused.text
    assert customer.get(project).status_code == 200
    gone = send(browser, refused, {"project_name": "Shop"})
    assert (gone.status_code, gone.headers["location"]) == (303, "/projects")
    assert customer.get(project).status_code == 404


def test_a_reading_key_takes_no_step(customer: Customer, project: str, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key("projects:read").token)
    for step in ("rotate_sdk_key", "expire_sdk_keys", "delete"):
        assert reader.get(f"{project}/settings/{step}").status_code == 403
        assert reader.post(f"{project}/settings/{step}").status_code == 403
    assert customer.get(project).status_code == 200
