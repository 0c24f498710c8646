"""Forms: small, of the one media type, and refused in words."""

from fastapi.testclient import TestClient

from api.dashboard.forms import PUBLIC_BYTES, PUBLIC_FIELDS
from tests.api.customers import Customer
from tests.api.dashboard.conftest import form_token, hidden_field

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def sent(customer: Customer, content: bytes, headers: dict[str, str] | None = None) -> tuple[int, str]:
    answer = customer.client.post(
        "/sign-in", content=content, headers=FORM if headers is None else headers, follow_redirects=False
    )
    assert "set-cookie" not in answer.headers
    return answer.status_code, answer.text


def test_a_large_form_is_refused(customer: Customer) -> None:
    assert sent(customer, b"key=" + b"x" * (PUBLIC_BYTES - 4))[0] == 401
    status, page = sent(customer, b"key=" + b"x" * PUBLIC_BYTES)
    assert status == 413
    assert "larger than 64 kB" in page


def test_what_cannot_be_read_is_refused(customer: Customer) -> None:
    assert sent(customer, b"key=\xff")[0] == 422
    assert sent(customer, b"&".join([b"a=1"] * (PUBLIC_FIELDS + 1)))[0] == 422
    assert sent(customer, b"{}", {"Content-Type": "application/json"})[0] == 415
    assert sent(customer, b"", {"Content-Type": "multipart/form-data; boundary=x"})[0] == 415


def test_a_field_may_come_twice(customer: Customer) -> None:
    assert isinstance(customer.client, TestClient)
    browser = TestClient(customer.client.app, follow_redirects=False)
    answer = browser.post("/sign-in", content=f"key=x&key={customer.token}", headers=FORM)
    assert answer.status_code == 303


def test_a_form_that_is_sent_twice_does_its_work_once(customer: Customer, browser: TestClient) -> None:
    page = browser.get("/account")
    form = {"form_token": form_token(page), "submission": hidden_field(page, "submission")}
    key = {**form, "name": "Clicked twice", "scopes": ["projects:read"]}
    once, twice = (browser.post("/account/keys", data=key) for _ in range(2))
    assert (once.status_code, twice.status_code) == (200, 200)
    named = [one for one in customer.get("/account/api_keys").json()["data"] if one["name"] == key["name"]]
    assert len(named) == 1
    # The same form with another content, as after the browser's "back", is another request.
    browser.post("/account/keys", data={**key, "name": "Corrected"})
    listed = [one["name"] for one in customer.get("/account/api_keys").json()["data"]]
    assert (listed.count("Clicked twice"), listed.count("Corrected")) == (1, 1)
    project = {**form, "name": "Clicked twice", "url": "https://twice.example"}
    first, second = (browser.post("/projects/new", data=project) for _ in range(2))
    assert first.headers["location"] == second.headers["location"]
    assert hidden_field(browser.get("/account"), "submission") != form["submission"]
