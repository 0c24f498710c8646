"""Forms: the key's permission is decided before anything is read of what is sent."""

import pytest
from fastapi.testclient import TestClient

from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer, a_customer_of
from tests.api.dashboard.conftest import SignIn, a_running_experiment

# By form with content: the scope that it needs.
FORMS = {
    "/projects/new": "projects:write",
    "{project}/installation/consent": "projects:write",
    "{project}/settings": "projects:write",
    "{project}/settings/delete": "projects:write",
    "{project}/runs": "projects:write",
    "{project}/runs/file": "projects:write",
    "{project}/erasure": "projects:write",
    "{project}/webhooks/new": "projects:write",
    "{project}/webhooks/none": "projects:write",
    "{project}/webhooks/none/rotate": "projects:write",
    "{project}/notification_channels/new": "projects:write",
    "{project}/notification_channels/none": "projects:write",
    "{project}/metrics/new": "experiments:write",
    "{project}/metrics/none": "experiments:write",
    "{project}/groups/new": "experiments:write",
    "{project}/groups/none": "experiments:write",
    "{project}/holdouts/new": "experiments:write",
    "{project}/holdouts/none/edit": "experiments:write",
    "/account/keys": "api_keys:write",
    "/account/members": "api_keys:write",
    "/account/members/nobody": "api_keys:write",
    "{project}/installation/check": "experiments:read",
    "{project}/experiments/new": "experiments:write",
    "{experiment}/edit": "experiments:write",
}
# Neither a form nor short: what reads it answers 415 or 413.
UNREADABLE = b"x" * (2**20 + 1)


# What is refused or only read leaves them as they are.
@pytest.fixture(scope="module")
def customer(service: TestClient) -> Customer:
    return a_customer_of(service)


@pytest.fixture(scope="module")
def project(customer: Customer) -> str:
    return customer.a_project()


@pytest.fixture(scope="module")
def experiment(customer: Customer, project: str) -> str:
    return a_running_experiment(customer, project)


@pytest.mark.parametrize("page", FORMS)
def test_a_form_is_not_read_of_a_key_without_the_scope(
    page: str, customer: Customer, project: str, experiment: str, sign_in: SignIn
) -> None:
    path = page.format(project=project, experiment=experiment)
    refused = sign_in(customer.with_key(*set(SCOPES) - {FORMS[page]}).token).post(path, content=UNREADABLE)
    assert refused.status_code == 403
    assert f"this key lacks the scope {FORMS[page]}" in refused.text
    assert sign_in(customer.token).post(path, content=UNREADABLE).status_code == 415


@pytest.mark.parametrize("page", FORMS)
def test_a_form_is_not_read_of_a_key_that_is_restricted_to_another_project(
    page: str, customer: Customer, project: str, experiment: str, sign_in: SignIn
) -> None:
    other = customer.a_project().rpartition("/")[2]
    path = page.format(project=project, experiment=experiment)
    restricted = sign_in(customer.with_key(project_ids=(other,)).token)
    assert restricted.post(path, content=UNREADABLE).status_code == (404 if "{" in page else 403)


@pytest.mark.parametrize("page", [page for page in FORMS if "{" in page])
def test_a_form_is_not_read_of_another_account(
    page: str, customer: Customer, project: str, experiment: str, sign_in: SignIn
) -> None:
    assert isinstance(customer.client, TestClient)
    stranger = sign_in(a_customer_of(customer.client, "Stranger").token)
    path = page.format(project=project, experiment=experiment)
    assert stranger.post(path, content=UNREADABLE).status_code == 404


def test_an_account_that_is_not_served_or_has_no_requests_left_sends_no_form(
    service: TestClient, sign_in: SignIn
) -> None:
    customer = a_customer_of(service, "Ended")
    browser = sign_in(customer.token)
    accounts, path = customer.services.catalog.accounts, f"{customer.a_project()}/experiments/new"
    accounts.update(customer.account.id, subscription_status="canceled")
    assert browser.post(path, content=UNREADABLE).status_code == 402
    accounts.update(customer.account.id, subscription_status="active", rate_limit=1)
    assert browser.post(path, content=UNREADABLE).status_code == 429


def test_a_key_that_was_revoked_leads_to_the_sign_in(
    customer: Customer, project: str, sign_in: SignIn
) -> None:
    browser = sign_in(customer.with_key().token)
    newest = customer.services.catalog.keys.of_account(customer.account.id)[0]
    assert customer.post(f"/account/api_keys/{newest.id}/revoke").status_code == 200
    answer = browser.post(f"{project}/experiments/new", content=UNREADABLE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
