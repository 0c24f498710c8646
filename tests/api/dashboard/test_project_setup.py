"""Pages that create a project and connect its site."""

import html

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token
from tests.api.dashboard.test_experiments import send_visitors


def test_a_project_is_created_and_led_to_its_installation(customer: Customer, browser: TestClient) -> None:
    token = form_token(browser.get("/projects/new"))
    wrong = {"form_token": token, "name": "Blog <b>", "url": "nowhere", "platform": "webflow"}
    refused = browser.post("/projects/new", data=wrong)
    assert refused.status_code == 422
    assert 'id="problem-url"' in refused.text
    assert 'value="Blog &lt;b&gt;"' in refused.text
    assert '<option value="webflow" selected>' in refused.text
    created = browser.post("/projects/new", data={**wrong, "url": "https://blog.example"})
    assert created.status_code == 303
    path = created.headers["location"].removesuffix("/installation")
    assert customer.data_of(path)["platform"] == "webflow"
    page = browser.get(created.headers["location"]).text
    code = customer.data_of(f"{path}/installation")["snippet_html"]
    assert code in html.unescape(page)
    assert '<p class="seen" hidden>' in page
    assert "in a tag manager it comes after the page was seen" in page


def test_a_new_project_has_the_currency_that_was_asked_for(customer: Customer, browser: TestClient) -> None:
    page = browser.get("/projects/new")
    assert '<option value="JPY">' in page.text
    form = {"form_token": form_token(page), "name": "Shop", "url": "https://shop.example"}
    currency = "settings.revenue_currency"
    refused = browser.post("/projects/new", data={**form, currency: "YEN"})
    assert refused.status_code == 422
    assert f'id="problem-{currency}"' in refused.text
    created = browser.post("/projects/new", data={**form, currency: "jpy"})
    path = created.headers["location"].removesuffix("/installation")
    assert customer.data_of(path)["settings"] == {"revenue_currency": "JPY"}


def test_who_asks_for_consent_is_chosen(customer: Customer, project: str, browser: TestClient) -> None:
    page = f"/projects/{project.rpartition('/')[2]}/installation"
    shown = browser.get(page)
    assert '<option value="none" selected>' in shown.text
    form = {"form_token": form_token(shown)}
    settings = []
    for chosen in ("page", "google_consent_mode", "tcf", "none"):
        answer = browser.post(f"{page}/consent", data={**form, "consent": chosen})
        assert answer.status_code == 303
        assert f'<option value="{chosen}" selected>' in browser.get(page).text
        settings.append(customer.data_of(project)["settings"])
    assert settings == [
        {"require_consent": True},
        {"consent_source": "google_consent_mode"},
        {"consent_source": "tcf"},
        {},
    ]
    assert browser.post(f"{page}/consent", data={**form, "consent": "fax"}).status_code == 422


def test_the_first_event_is_seen(customer: Customer, experiment: str, browser: TestClient) -> None:
    page = f"/projects/{experiment.split('/')[2]}/installation"
    assert browser.get(f"{page}/state.json").json() == {"is_seen": False, "visitors": 0}
    send_visitors(customer, experiment, {0: (2, 1)})
    assert browser.get(f"{page}/state.json").json() == {"is_seen": True, "visitors": 2}
    assert '<p class="unseen" hidden>' in browser.get(page).text


def test_a_page_at_another_address_than_the_code_names_says_so(
    customer: Customer, project: str, browser: TestClient
) -> None:
    assert isinstance(customer.client, TestClient)
    base_url = str(customer.client.app.state.services.settings.base_url)  # type: ignore[attr-defined] # any ASGI app
    page = f"/projects/{project.rpartition('/')[2]}/installation"
    assert f"another address than <code>{base_url}</code>" in browser.get(page).text
    there = {"host": base_url.removeprefix("http://")}
    assert "another address than" not in browser.get(page, headers=there).text


def test_a_key_that_may_not_create_a_project_says_so(customer: Customer, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key("projects:read").token)
    refused = reader.get("/projects/new")
    assert refused.status_code == 403
    assert "this key lacks the scope projects:write" in refused.text
