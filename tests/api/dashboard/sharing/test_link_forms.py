"""Pages that make, list and end share links, of an experiment and of the account."""

import re
from urllib.parse import urlsplit

import httpx2
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token, hidden_field


def sent(page: httpx2.Response, **fields: str) -> dict[str, str]:
    return {"form_token": form_token(page), "submission": hidden_field(page, "submission"), **fields}


def address_in(page: httpx2.Response) -> str:
    """The path of the link that a page shows; empty where it shows none."""
    found = re.search(r'<code id="address">([^<]+)', page.text)
    return urlsplit(found[1]).path if found else ""


def test_a_link_is_made_shown_once_listed_and_revoked(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    assert f'href="{experiment}/share">Share</a>' in browser.get(experiment).text
    page = browser.get(f"{experiment}/share")
    assert 'name="days" inputmode="numeric" value="30"' in page.text
    assert "There is no link" in page.text
    form = sent(page, days="7", shows_money="yes")
    made = browser.post(f"{experiment}/share", data=form)
    assert (made.status_code, made.headers["Cache-Control"]) == (200, "no-store")
    path = address_in(made)
    assert path.startswith("/shared/")
    assert "shows amounts of money" in made.text
    # The tests' client is at another address than the one that links name.
    assert "TRUELIFT_BASE_URL" in made.text
    # A page that is loaded again sends its form again.
    assert address_in(browser.post(f"{experiment}/share", data=form)) == path
    listed = browser.get(f"{experiment}/share")
    assert (address_in(listed), path in listed.text) == ("", False)
    assert "<td>shown</td>" in listed.text
    assert listed.text.count("works until") == 1
    (link,) = customer.get(f"{experiment}/share_links").json()["data"]
    revoke = f"{experiment}/share/{link['id']}/revoke"
    assert f'action="{revoke}"' in listed.text
    assert browser.post(revoke, data={"form_token": "of another"}).status_code == 403
    assert browser.get(path).status_code == 200
    ended = browser.post(revoke, data=sent(listed))
    assert (ended.status_code, ended.headers["Location"]) == (303, f"{experiment}/share")
    assert browser.get(path).status_code == 404
    assert f'action="{revoke}"' not in browser.get(f"{experiment}/share").text


def test_a_form_that_is_refused_says_why(customer: Customer, experiment: str, browser: TestClient) -> None:
    page = browser.get(f"{experiment}/share")
    for days in ("91", "soon"):
        refused = browser.post(f"{experiment}/share", data=sent(page, days=days))
        assert (refused.status_code, address_in(refused)) == (422, "")
        assert 'id="problem-days"' in refused.text
        assert f'value="{days}"' in refused.text
    project = experiment.partition("/experiments")[0]
    customer.patch(project, {"settings": {"share_links": False}})
    refused = browser.post(f"{experiment}/share", data=sent(page, days=""))
    assert (refused.status_code, "this project allows no share links" in refused.text) == (422, True)


def test_a_key_that_may_not_share_makes_and_ends_no_link(
    customer: Customer, experiment: str, sign_in: SignIn
) -> None:
    link_id = customer.post(f"{experiment}/share_links").json()["data"]["share_link"]["id"]
    reader = sign_in(customer.with_key("experiments:read", "results:read").token)
    page = reader.get(f"{experiment}/share")
    assert page.status_code == 200
    assert reader.post(f"{experiment}/share", data=sent(page, days="7")).status_code == 403
    assert reader.post(f"{experiment}/share/{link_id}/revoke", data=sent(page)).status_code == 403
    assert reader.get("/account/share_links").status_code == 403
    assert reader.get("/account/share_links/revoke").status_code == 403
    assert len(customer.get("/account/share_links").json()["data"]) == 1


def test_the_settings_of_a_project_forbid_links(
    customer: Customer, project: str, experiment: str, browser: TestClient
) -> None:
    customer.post(f"{experiment}/share_links")
    page = browser.get(f"{project}/settings")
    (box,) = re.findall(r'<input[^>]*name="settings.share_links"[^>]*>', page.text)
    assert "checked" in box
    customer.patch(project, {"settings": {"share_links": False}})
    (box,) = re.findall(
        r'<input[^>]*name="settings.share_links"[^>]*>', browser.get(f"{project}/settings").text
    )
    assert "checked" not in box
    assert customer.get("/account/share_links").json()["data"] == []


def test_admins_see_all_links_that_work_and_revoke_them(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    other = customer.an_experiment(customer.a_project(), name="Second test")
    for path in (experiment, other):
        customer.post(f"{path}/share_links")
    page = browser.get("/account/share_links")
    assert "2 links work now" in page.text
    assert f'<a href="{other}/share">Second test</a>' in page.text
    confirm = browser.get("/account/share_links/revoke")
    assert "Revoke all share links of the account?" in confirm.text
    answer = browser.post("/account/share_links/revoke", data={"form_token": form_token(confirm)})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account/share_links")
    page = browser.get("/account/share_links")
    assert "0 links work now" in page.text
    assert "Revoke all" not in page.text
    assert "share link" in browser.get("/account/audit").text
