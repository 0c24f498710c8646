"""Two tabs: the second save of a form shows what others have saved since, and loses nothing of either."""

import html
import re
from collections.abc import Mapping

import httpx2
import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.drafts.test_draft_pages import fields_of, send


@pytest.fixture
def path(customer: Customer, project: str) -> str:
    return customer.an_experiment(project, hypothesis="Before")


def saved_of(page: httpx2.Response) -> dict[str, tuple[str, str]]:
    """Return what a page shows as saved meanwhile: the field, what was saved, and what the form has."""
    table = page.text.partition('<table id="saved">')[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>', table, re.DOTALL)
    return {html.unescape(name): (html.unescape(saved), html.unescape(kept)) for name, saved, kept in rows}


def two_tabs(
    browser: TestClient, path: str, first: Mapping[str, str], second: Mapping[str, str]
) -> httpx2.Response:
    """Open an experiment in two tabs, save in the first, and try to in the second."""
    one, other = (browser.get(f"{path}/edit") for _ in range(2))
    assert send(browser, one, **first).status_code == 303
    answer = send(browser, other, **second)
    assert answer.status_code == 412, answer.text
    return answer


def test_the_second_save_shows_what_changed_and_a_further_one_saves_both(
    customer: Customer, browser: TestClient, path: str
) -> None:
    page = two_tabs(
        browser,
        path,
        {"name": "First <tab>", "traffic_allocation": "30"},
        {"hypothesis": "Typed in\nthe second"},
    )
    assert saved_of(page) == {
        "Name": ("First <tab>", "as saved meanwhile"),
        "Traffic allocation": ("30", "as saved meanwhile"),
    }
    assert "Not saved yet" in page.text
    kept = fields_of(page)
    assert (kept["name"], kept["hypothesis"]) == ("First <tab>", "Typed in\nthe second")
    assert customer.data_of(path)["hypothesis"] == "Before"
    assert send(browser, page).status_code == 303
    saved = customer.data_of(path)
    assert (saved["name"], saved["traffic_allocation"]) == ("First <tab>", 30)
    assert saved["hypothesis"] == "Typed in\nthe second"


def test_of_two_values_of_one_field_the_typed_one_is_saved_knowingly(
    customer: Customer, browser: TestClient, path: str
) -> None:
    page = two_tabs(
        browser,
        path,
        {"name": "Theirs", "statistics__cuped": "on"},
        {"name": "Mine", "statistics__sequential": "always_valid"},
    )
    assert saved_of(page) == {
        "Name": ("Theirs", "yours: Mine"),
        "Statistics, cuped": ("yes", "as saved meanwhile"),
    }
    assert customer.data_of(path)["name"] == "Theirs"
    assert send(browser, page).status_code == 303
    saved = customer.data_of(path)
    assert (saved["name"], saved["statistics"]["sequential"], saved["statistics"]["cuped"]) == (
        "Mine",
        "always_valid",
        True,
    )


def test_a_list_that_was_typed_in_stays_whole(customer: Customer, browser: TestClient, path: str) -> None:
    fewer = customer.data_of(path)["variants"][:1]
    page = browser.get(f"{path}/edit")
    third = send(browser, browser.get(f"{path}/edit"), "add:variants")
    third = send(browser, third, **{"variants[2]__name": "Third"})
    assert third.status_code == 303
    answer = send(browser, page, **{"variants[1]__name": "Renamed"})
    assert answer.status_code == 412
    assert saved_of(answer) == {
        "Variant 3, name": ("Third", "yours: (empty)"),
        "Variant 3, weight": ("1", "yours: (empty)"),
    }
    # What others have removed meanwhile is made anew.
    assert customer.patch(path, {"variants": [*fewer, {"name": "Other", "weight": 1}]}).status_code == 200
    again = send(browser, answer)
    assert again.status_code == 412
    assert saved_of(again)["Variant 2, name"] == ("Other", "yours: Renamed")
    assert send(browser, again).status_code == 303
    assert [one["name"] for one in customer.data_of(path)["variants"]] == ["Control", "Renamed"]


def test_other_buttons_and_problems_keep_the_revision(
    customer: Customer, browser: TestClient, path: str
) -> None:
    page = send(browser, browser.get(f"{path}/edit"), "add:goals")
    assert customer.patch(path, {"name": "Theirs"}).status_code == 200
    page = send(browser, page, "add:url_rules", traffic_allocation="x")
    answer = send(browser, page)
    assert answer.status_code == 412
    assert saved_of(answer)["Name"] == ("Theirs", "as saved meanwhile")
    refused = send(browser, answer)
    assert refused.status_code == 422
    # Once shown, nothing is saved meanwhile.
    assert saved_of(refused) == {}


def test_what_changes_nothing_of_the_form_is_no_difference(
    customer: Customer, browser: TestClient, path: str
) -> None:
    one, other = (browser.get(f"{path}/edit") for _ in range(2))
    assert [send(browser, page, name="Same").status_code for page in (one, other)] == [303, 303]
    page = browser.get(f"{path}/edit")
    assert [customer.post(f"{path}/{step}").status_code for step in ("start", "pause")] == [200, 200]
    assert send(browser, page, name="After the pause").status_code == 303
    assert customer.data_of(path)["name"] == "After the pause"


def test_a_test_that_was_started_meanwhile_is_not_changed(
    customer: Customer, browser: TestClient, project: str
) -> None:
    path = customer.an_experiment(project)
    page = browser.get(f"{path}/edit")
    assert customer.post(f"{path}/start").status_code == 200
    refused = send(browser, page, name="Typed")
    assert (refused.status_code, fields_of(refused)["name"]) == (422, "Typed")
    assert "is running; pause it" in refused.text


def test_fields_that_the_browser_hides_count_as_left_alone(browser: TestClient, path: str) -> None:
    page = browser.get(f"{path}/edit")
    hidden = [name for name in fields_of(page) if name.startswith(("statistics.prior", "trigger_selector"))]
    assert "statistics.prior" in hidden
    assert send(browser, browser.get(f"{path}/edit"), statistics__prior="empirical").status_code in {303, 422}
    saved = send(browser, browser.get(f"{path}/edit"), statistics__prior_deviation_percent="7")
    assert saved.status_code == 303
    fields = {name: value for name, value in fields_of(page).items() if name not in hidden}
    answer = browser.post(page.url.path, data={**fields, "name": "Mine", "action": "save"})
    assert answer.status_code == 412
    assert saved_of(answer)["Statistics, prior deviation percent"] == ("7", "as saved meanwhile")


@pytest.mark.parametrize("opened", ["", "[", "[1]", '{"name": 3}', "[" * 200_000])
def test_a_form_without_readable_digests_shows_everything_that_differs(
    opened: str, customer: Customer, browser: TestClient, path: str
) -> None:
    page = browser.get(f"{path}/edit")
    assert customer.patch(path, {"name": "Theirs"}).status_code == 200
    answer = send(browser, page, opened=opened)
    assert answer.status_code == 412
    assert saved_of(answer) == {"Name": ("Theirs", "yours: Checkout button")}


def test_a_form_of_no_revision_is_saved_as_it_is(customer: Customer, browser: TestClient, path: str) -> None:
    page = browser.get(f"{path}/edit")
    assert customer.patch(path, {"hypothesis": "Theirs"}).status_code == 200
    assert send(browser, page, revision="", name="Mine").status_code == 303
    assert customer.data_of(path)["name"] == "Mine"
