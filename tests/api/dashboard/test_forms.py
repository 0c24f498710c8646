"""Forms: small, of the one media type, and refused in words."""

from fastapi.testclient import TestClient

from api.dashboard.forms import PUBLIC_BYTES, PUBLIC_FIELDS
from tests.api.customers import Customer

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
