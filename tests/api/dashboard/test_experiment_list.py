"""Page of a project's experiments: by life and verdict, searched and sorted, with copies and deletions."""

import re

import pytest
from fastapi.testclient import TestClient

from api.dashboard.experiment_list import PER_PAGE
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token
from tests.api.dashboard.listed_shop import SHOP, UNCLEAR, fill


def names(page: str) -> list[str]:
    """The names in the rows of a list, in order."""
    return re.findall(r'<th scope="row" role="rowheader"><a href="[^"]+">([^<]+)</a>', page)


@pytest.fixture
def shop(customer: Customer, project: str) -> str:
    """The path of a project with experiments of every verdict."""
    fill(customer, project)
    return project


def test_experiments_that_need_somebody_come_first(shop: str, browser: TestClient) -> None:
    page = browser.get(shop).text
    first = names(page)
    assert first[:4] == [SHOP[0][0], SHOP[1][0], SHOP[3][0], SHOP[2][0]]
    assert 'Running and paused <span class="n">8</span>' in page
    assert 'All <span class="n">10</span>' in page
    assert "Keep running 3" in page
    assert 'aria-sort="ascending"' in page
    assert f"1\N{EN DASH}{len(first)} of {len(first)}" in page
    # A bar in green and one in vermilion, where the verdict rests on it; broken data have none.
    assert page.count('class="bar positive"') == page.count('class="bar negative"') == 1
    assert "not shown: fix the data first" in page
    assert "style=" not in page


def test_lists_are_found_by_life_verdict_words_tag_and_owner(
    customer: Customer, shop: str, browser: TestClient
) -> None:
    def found(query: str) -> list[str]:
        return names(browser.get(f"{shop}?{query}").text)

    assert found("status=drafts") == found("status=draft") == ["Gift wrap"]
    assert found("status=ended") == found("verdict=ship&status=completed") == ["Sticky cart button"]
    assert found("verdict=rollback") == ["Price with tax in the list"]
    assert found("search=GALLERY+larger") == ["Larger product gallery"]
    assert len(found("status=all")) == len(SHOP)
    assert len(found("tag=checkout")) == 4
    owner = customer.services.catalog.members.accepted(customer.account.id)[0]
    assert len(found(f"owner={owner.id}")) == 5
    assert found("sort=-name&status=all")[0] == "Sticky cart button"
    assert "No experiment fits" in browser.get(f"{shop}?search=nowhere").text
    for wrong in ("page=nonsense", "page=0", "sort=salt", "status=alive"):
        assert browser.get(f"{shop}?{wrong}").status_code == 422, wrong


def test_what_was_decided_is_said(shop: str, browser: TestClient) -> None:
    assert "Shipped " in browser.get(f"{shop}?status=ended").text


def test_verdicts_are_shown_to_keys_that_may_read_results(
    customer: Customer, shop: str, sign_in: SignIn
) -> None:
    without = sign_in(customer.with_key("projects:read", "experiments:read").token).get(shop)
    assert len(names(without.text)) == 8
    assert "Roll back" not in without.text
    assert 'class="bar ' not in without.text
    assert 'class="button" href' not in without.text
    assert ">Copy<" not in without.text


def test_lists_have_pages(customer: Customer, project: str, browser: TestClient) -> None:
    fill(customer, project, [(f"Test {number}", "running", UNCLEAR, False) for number in range(PER_PAGE + 1)])
    first = browser.get(project).text
    assert (len(names(first)), "1\N{EN DASH}25 of 26" in first, "Page 1 of 2" in first) == (
        PER_PAGE,
        True,
        True,
    )
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first)
    assert len(names(browser.get(project + following.replace("&amp;", "&")).text)) == 1


def test_an_empty_project_says_how_to_go_on(project: str, browser: TestClient) -> None:
    assert "No experiment yet" in browser.get(project).text


def test_a_copy_opens_as_a_draft_and_a_draft_is_deleted_after_a_question(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    project = experiment.partition("/experiments")[0]
    token = {"form_token": form_token(browser.get(project))}
    copied = browser.post(f"{experiment}/copy", data=token)
    assert (copied.status_code, copied.headers["location"].endswith("/edit")) == (303, True)
    copy = copied.headers["location"].removesuffix("/edit")
    assert customer.data_of(copy)["status"] == "draft"
    assert f'href="{copy}/delete"' in browser.get(f"{project}?status=drafts").text
    assert "gone for good" in browser.get(f"{copy}/delete").text
    assert browser.get(f"{experiment}/delete").status_code == 422
    assert browser.post(f"{copy}/delete", data={"form_token": "none"}).status_code == 403
    assert browser.post(f"{copy}/delete", data=token).headers["location"] == project
    assert customer.get(copy).status_code == 404
    assert browser.post(f"{experiment}/delete", data=token).status_code == 422
