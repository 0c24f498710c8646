"""Page that erases a person: told first, carried out once, with a receipt and a trace without an id."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send
from tests.api.dashboard.test_experiments import send_visitors


def audited(customer: Customer) -> int:
    entries = customer.get("/account/audit").json()["data"]
    return sum(entry["subject_type"] == "erasure" for entry in entries)


def test_a_person_is_erased_once_after_a_confirmation(
    browser: TestClient, customer: Customer, experiment: str
) -> None:
    project = experiment.partition("/experiments")[0]
    send_visitors(customer, experiment, {0: (3, 1), 1: (3, 1)})
    visitor = "<b>a/visitor"
    page = browser.get(f"{project}/erasure")
    assert send(browser, page, {"visitor_id": " "}).status_code == 422
    asked = send(browser, page, {"visitor_id": visitor, "id_type": "visitor"})
    assert asked.status_code == 200
    assert "Erase the visitor <code>&lt;b&gt;a/visitor</code> for good?" in asked.text
    assert audited(customer) == 0
    receipts = [send(browser, asked, {}) for _ in range(2)]
    for receipt in receipts:
        assert "Erased. Nothing of the person is left" in receipt.text
        assert "nothing of the person was stored" in receipt.text
        assert "a/visitor" not in receipt.text
    # Sent twice, as by a double click.
    assert audited(customer) == 1


def test_what_cannot_be_erased_is_said_and_kept(
    browser: TestClient, customer: Customer, project: str
) -> None:
    page = browser.get(f"{project}/erasure")
    asked = send(browser, page, {"visitor_id": "someone", "id_type": "visitor"})
    refused = send(browser, asked, {"id_type": "fax"})
    assert refused.status_code == 422
    assert 'id="problem-id_type"' in refused.text
    assert fields_of(refused)["visitor_id"] == "someone"
    assert audited(customer) == 0


def test_a_reading_key_erases_nobody(customer: Customer, project: str, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key("projects:read", "experiments:read").token)
    assert reader.get(f"{project}/erasure").status_code == 403
