"""What was typed outlives a session that ended between the opening of a form and its sending."""

import logging

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.bodies.kept_forms import LONGEST
from api.dashboard import typed_forms
from api.dashboard.drafts import draft_view
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import COOKIE
from pipeline.clock import utc_now
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.drafts.test_draft_pages import fields_of, send

TYPED = "Typed <before> the end"


def end_session(customer: Customer, browser: TestClient) -> None:
    customer.services.catalog.sessions.end(browser.cookies[COOKIE])


def sign_in_again(customer: Customer, browser: TestClient, answer: httpx2.Response) -> httpx2.Response:
    """Follow an answer to the sign-in, sign in, and follow that."""
    page = browser.get(answer.headers["location"])
    assert "What you typed was not saved" in page.text
    wanted = answer.headers["location"].partition("next=")[2]
    signed = browser.post("/sign-in", data={"key": customer.token, "next": wanted})
    assert signed.status_code == 303
    return browser.get(signed.headers["location"])


@pytest.fixture
def path(customer: Customer, project: str) -> str:
    """The path of a draft."""
    return customer.an_experiment(project)


@pytest.mark.parametrize("how", ["ended", "cookie lost", "key revoked"])
def test_a_draft_is_there_after_signing_in_again(
    how: str, customer: Customer, path: str, sign_in: SignIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    holder = customer.services.catalog.members.accepted(customer.account.id)[0]
    key, token = customer.services.catalog.keys.create(
        customer.account.id, holder.id, "Short", ["experiments:read", "experiments:write", "projects:read"]
    )
    browser = sign_in(token)
    page = browser.get(f"{path}/edit")
    if how == "ended":
        end_session(customer, browser)
    elif how == "cookie lost":
        del browser.cookies[COOKIE]
    else:
        customer.services.catalog.keys.revoke(customer.account.id, key.id, now=utc_now())
    answer = send(browser, page, name=TYPED, **{"variants[1]__name": "B2"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={path}/edit")
    cookie = answer.headers["set-cookie"].lower()
    assert ("httponly" in cookie, "samesite=lax" in cookie, "max-age=3600" in cookie) == (True, True, True)
    again = sign_in_again(customer, browser, answer)
    assert "your session had ended" in again.text
    kept = fields_of(again)
    assert (kept["name"], kept["variants[1].name"]) == (TYPED, "B2")
    assert customer.data_of(path)["name"] == "Checkout button"
    assert "Typed" not in caplog.text
    assert send(browser, again).status_code == 303
    assert customer.data_of(path)["name"] == TYPED
    # Shown once: a form that is opened now is that of the experiment.
    assert "your session had ended" not in browser.get(f"{path}/edit").text


def test_what_others_saved_meanwhile_is_shown_then(
    customer: Customer, path: str, browser: TestClient
) -> None:
    page = browser.get(f"{path}/edit")
    end_session(customer, browser)
    assert customer.patch(path, {"name": "Theirs"}).status_code == 200
    again = sign_in_again(customer, browser, send(browser, page, hypothesis=TYPED))
    answer = send(browser, again)
    assert answer.status_code == 412
    assert (fields_of(answer)["hypothesis"], fields_of(answer)["name"]) == (TYPED, "Theirs")


def test_a_new_draft_and_a_new_project_are_kept_too(
    customer: Customer, project: str, browser: TestClient
) -> None:
    page = browser.get(f"{project}/experiments/new")
    end_session(customer, browser)
    again = sign_in_again(customer, browser, send(browser, page, name=TYPED))
    assert fields_of(again)["name"] == TYPED
    assert (
        send(
            browser, again, **{"goals[0]__name": "Buys", "goals[0]__config__event_name": "purchase"}
        ).status_code
        == 303
    )
    page = browser.get("/projects/new")
    end_session(customer, browser)
    seal = page.text.partition('name="seal" value="')[2].partition('"')[0]
    answer = browser.post("/projects/new", data={"name": TYPED, "platform": "wix", "seal": seal})
    shown = sign_in_again(customer, browser, answer).text
    assert "Typed &lt;before&gt; the end" in shown
    assert '<option value="wix" selected>' in shown


def test_a_session_that_began_in_another_tab_shows_the_form_again(
    customer: Customer, path: str, browser: TestClient
) -> None:
    page = browser.get(f"{path}/edit")
    assert browser.post("/sign-in", data={"key": customer.token}).status_code == 303
    answer = send(browser, page, name=TYPED)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}/edit")
    again = browser.get(f"{path}/edit")
    assert fields_of(again)["name"] == TYPED
    assert send(browser, again).status_code == 303
    assert customer.data_of(path)["name"] == TYPED


def test_a_sign_in_by_link_leads_to_the_form(customer: Customer, path: str, browser: TestClient) -> None:
    page = browser.get(f"{path}/edit")
    end_session(customer, browser)
    send(browser, page, name=TYPED)
    token = customer.services.cipher.encrypt(customer.token.encode())
    secret = customer.services.catalog.sign_in_links.create(token, now=utc_now())
    answer = browser.get(f"/sign-in/{secret}")
    assert answer.headers["location"] == f"{path}/edit"
    assert fields_of(browser.get(answer.headers["location"]))["name"] == TYPED


def test_forms_of_several_tabs_are_all_there(
    customer: Customer, project: str, path: str, browser: TestClient
) -> None:
    other = f"{customer.an_experiment(project, name='Other')}/edit"
    tabs = [(browser.get(address), typed) for address, typed in ((f"{path}/edit", "One"), (other, "Two"))]
    tabs += [(browser.get(f"{project}/experiments/new"), typed) for typed in ("Three", "Four", "Five", "Six")]
    end_session(customer, browser)
    for page, typed in tabs:
        # What is sent once more, after a step back, takes the place of what was sent before.
        for name in ("Before", typed):
            answer = send(browser, page, name=name)
    assert fields_of(sign_in_again(customer, browser, answer))["name"] == "Six"
    again = [fields_of(browser.get(page.url.path))["name"] for page, _ in reversed(tabs)]
    # Shown once each, the newest first, and five at most.
    assert again == ["Five", "Four", "Three", "", "Two", "Checkout button"]


def test_a_form_that_was_not_shown_is_kept_unless_no_page_can_show_it(
    customer: Customer, path: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise PageError(429, "Too many requests.")

    page = browser.get(f"{path}/edit")
    end_session(customer, browser)
    answer = send(browser, page, name=TYPED)
    with monkeypatch.context() as patched:
        patched.setattr(draft_view, "read_metrics", refuse)
        browser.post("/sign-in", data={"key": customer.token})
        assert browser.get(f"{path}/edit").status_code == 429
    assert fields_of(browser.get(f"{path}/edit"))["name"] == TYPED
    end_session(customer, browser)
    answer = send(browser, page, **{"goals[2]__name": TYPED})
    assert answer.headers["location"] == f"/sign-in?next={path}/edit"
    browser.post("/sign-in", data={"key": customer.token})
    assert [browser.get(f"{path}/edit").status_code for _ in range(2)] == [422, 200]


def test_an_hour_later_or_for_another_account_nothing_is_shown(
    customer: Customer, path: str, browser: TestClient, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.get(f"{path}/edit")
    end_session(customer, browser)
    typed = send(browser, page, name=TYPED)
    stranger, _, token = customer.services.catalog.accounts.create("Other", "o@other.example", "scale")
    assert stranger.id != customer.account.id
    browser.post("/sign-in", data={"key": token})
    refused = browser.get(f"{path}/edit")
    assert (refused.status_code, "Typed" in refused.text) == (404, False)
    later = utc_now() + LONGEST
    monkeypatch.setattr(typed_forms, "utc_now", lambda: later)
    assert "What you typed" not in browser.get(typed.headers["location"]).text
    browser.post("/sign-in", data={"key": customer.token})
    assert "Typed" not in browser.get(f"{path}/edit").text


@pytest.mark.parametrize("seal", ["", "x", "of another page"])
def test_a_form_that_no_page_sealed_is_not_kept(
    seal: str, customer: Customer, path: str, browser: TestClient
) -> None:
    page = browser.get(f"{path}/edit")
    other = fields_of(browser.get(f"{path.rpartition('/')[0]}/new"))["seal"]
    end_session(customer, browser)
    answer = send(browser, page, seal=other if seal == "of another page" else seal, name=TYPED)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert "set-cookie" not in answer.headers
    foreign = browser.post(f"{path}/edit", data=fields_of(page), headers={"Sec-Fetch-Site": "cross-site"})
    assert (foreign.status_code, "set-cookie" in foreign.headers) == (303, False)
