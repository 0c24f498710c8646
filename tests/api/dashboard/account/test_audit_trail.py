"""Page of the audit trail: what was changed, escaped, and for owners and admins only."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn


def test_changes_are_shown_with_their_values(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    customer.post(f"{experiment}/pause")
    assert customer.call("PATCH", experiment, json={"name": "<b>Bold</b>"}).status_code == 200
    id_ = experiment.rpartition("/")[2]
    assert 'href="/account/audit"' in browser.get("/account").text
    every = browser.get("/account/audit")
    assert every.status_code == 200
    assert id_ in every.text
    one = browser.get(f"/account/audit?subject_id={id_}").text
    assert "changed experiment" in one
    assert "created experiment" in one
    assert "Bold" in one
    assert "<b>Bold" not in one
    assert "There is no entry." in browser.get("/account/audit?subject_id=exp_unknown").text


def test_a_page_that_is_no_number_is_refused_in_words(browser: TestClient) -> None:
    refused = browser.get("/account/audit?page=many")
    assert refused.status_code == 422
    assert "<h1>Not valid</h1>" in refused.text


def test_a_key_that_does_not_manage_keys_does_not_see_it(
    customer: Customer, project: str, sign_in: SignIn
) -> None:
    restricted = sign_in(customer.with_key(project_ids=(project.rpartition("/")[2],)).token)
    assert restricted.get("/account/audit").status_code == 403
    assert "/account/audit" not in restricted.get("/account").text


def test_entries_are_filtered_and_the_filters_kept(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    project_id = experiment.split("/")[2]
    other = customer.a_project(name="Other shop").rpartition("/")[2]
    text = browser.get(f"/account/audit?project_id={project_id}&action=created&actor=&from=2026-01-01").text
    assert experiment.rpartition("/")[2] in text
    assert f"<code>{other}" not in text
    assert f'<option value="{project_id}" selected>' in text
    assert 'value="2026-01-01"' in text
    for query in ("to=2026-01-01", "subject_type=webhook", "actor=nobody"):
        page = browser.get(f"/account/audit?{query}").text
        assert "There is no entry." in page, query
    assert '<option value="nobody" selected>' in page
    for query in ("from=yesterday", "to=9999-12-31", "action=burnt"):
        assert browser.get(f"/account/audit?{query}").status_code == 422, query
