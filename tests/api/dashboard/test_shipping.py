"""Pages of a decision, and of the end of a rollout."""

import re

import httpx2
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token
from tests.api.dashboard.test_experiments import send_visitors

NOTE = "Fewer steps,\nmore orders."


def signed(page: httpx2.Response) -> dict[str, str]:
    return {"form_token": form_token(page)}


def test_a_decision_is_made_on_a_page_and_its_rollout_ended(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    shipped = customer.data_of(experiment)["variants"][1]
    send_visitors(customer, experiment, {0: (90, 3), 1: (10, 2)})
    assert f'href="{experiment}/ship">' in browser.get(experiment).text
    page = browser.get(f"{experiment}/ship")
    assert "Treatment" in page.text
    (risk,) = re.findall(r'name="risk" value="(\w+)"', page.text)
    assert risk == "sample_ratio"
    sent = {**signed(page), "choice": shipped["id"], "note": NOTE, "rollout": "yes"}
    refused = browser.post(f"{experiment}/ship", data=sent)
    assert refused.status_code == 422
    assert "Not decided yet" in refused.text
    assert f'value="{shipped["id"]}" checked' in refused.text
    assert NOTE.split("\n", maxsplit=1)[0] in refused.text
    assert customer.data_of(experiment)["conclusion"] is None
    assert browser.post(f"{experiment}/ship", data={**sent, "risk": risk}).status_code == 303
    decided = customer.data_of(experiment)
    conclusion = decided["conclusion"]
    assert (conclusion["decision"], conclusion["note"]) == ("ship", NOTE)
    assert [one["risk"] for one in conclusion["accepted_risks"]] == [risk]
    shown = browser.get(experiment).text
    assert "Shipped" in shown
    assert "Fewer steps," in shown
    assert f'href="{experiment}/rollout/end"' in shown
    assert browser.get(f"{experiment}/ship").status_code == 422
    confirm = signed(browser.get(f"{experiment}/rollout/end"))
    assert browser.post(f"{experiment}/rollout/end", data=confirm).status_code == 303
    assert customer.data_of(experiment)["rollout"]["ended_at"]
    assert "rollout/end" not in browser.get(experiment).text


def test_a_key_without_results_decides_and_a_reading_key_does_not(
    customer: Customer, experiment: str, sign_in: SignIn
) -> None:
    reader = sign_in(customer.with_key("experiments:read").token)
    page = reader.get(f"{experiment}/ship")
    assert page.status_code == 200
    sent = {**signed(page), "choice": "keep_control", "note": NOTE}
    assert reader.post(f"{experiment}/ship", data=sent).status_code == 403
    writer = sign_in(customer.with_key("experiments:read", "experiments:write").token)
    page = writer.get(f"{experiment}/ship")
    sent = {**signed(page), "choice": "keep_control", "note": ""}
    refused = writer.post(f"{experiment}/ship", data=sent)
    assert (refused.status_code, "blank" in refused.text) == (422, True)
    assert writer.post(f"{experiment}/ship", data={**sent, "note": NOTE}).status_code == 303
    assert customer.data_of(experiment)["conclusion"]["decision"] == "keep_control"
