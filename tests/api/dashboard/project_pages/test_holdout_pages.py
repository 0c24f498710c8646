"""Pages of holdouts: created, changed, ended and deleted in forms; results beside the winners' sum."""

from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send
from tests.api.dashboard.test_programme import with_orders, with_winner

HOSTILE = "<script>alert(1)</script>"
LATE = "2099-06-30T22:00"


def test_a_holdout_is_created_with_metrics_of_the_library(
    browser: TestClient, customer: Customer, project: str
) -> None:
    assert "No holdout yet" in browser.get(f"{project}/holdouts").text
    assert f'href="{project}/metrics/new"' in browser.get(f"{project}/holdouts/new").text
    first, second = (customer.a_metric(project, name=name).rpartition("/")[2] for name in ("Sales", HOSTILE))
    page = browser.get(f"{project}/holdouts/new")
    wrong: dict[str, str | None] = {
        "name": "",
        "percent": "11",
        "from": "2020-01-01T00:00",
        "to": "2020-01-01T00:00",
    }
    refused = send(browser, page, wrong)
    assert refused.status_code == 422
    for field in ("name", "percent"):
        assert f'id="problem-{field}"' in refused.text, field
    typed: dict[str, str | None] = {
        "name": HOSTILE,
        "percent": "10",
        "goals[0].metric_id": second,
        "goals[1].metric_id": first,
    }
    late = send(browser, refused, {**typed, "percent": "10"})
    assert 'id="problem-from"' in late.text
    gone = send(browser, late, {**typed, "from": "", "to": LATE, "goals[2].metric_id": "met_gone"})
    assert (gone.status_code, 'id="problem-goals"' in gone.text) == (422, True)
    # What was chosen stays, and a further goal that is the primary one is left out.
    assert fields_of(gone)["goals[0].metric_id"] == second
    twice: dict[str, str | None] = {
        "from": "",
        "to": LATE,
        "goals[1].metric_id": first,
        "goals[2].metric_id": second,
    }
    answers = [send(browser, gone, twice) for _ in range(2)]
    (made,) = customer.get(f"{project}/holdouts").json()["data"]
    assert [one.headers.get("location") for one in answers] == [f"{project}/holdouts/{made['id']}"] * 2
    assert (made["percent"], made["to"]) == (10, f"{LATE}:00Z")
    assert [goal["metric_id"] for goal in made["goals"]] == [second, first]
    text = browser.get(f"{project}/holdouts").text
    assert HOSTILE not in text
    assert "in force" in text
    another = send(browser, browser.get(f"{project}/holdouts/new"), {"name": "Another"})
    assert (another.status_code, "end it first" in another.text) == (422, True)


def test_a_holdout_is_renamed_moved_ended_and_deleted(
    browser: TestClient, customer: Customer, project: str
) -> None:
    path = customer.a_holdout(project)
    page = browser.get(f"{path}/edit")
    assert send(browser, page, {"to": LATE}).status_code == 303
    assert customer.data_of(path)["to"] == f"{LATE}:00Z"
    # The form was opened before the end was moved: only what was typed is saved, after it was shown.
    behind = send(browser, page, {"name": "Summer"})
    assert (behind.status_code, "saved a change since you opened" in behind.text) == (412, True)
    assert send(browser, behind, {}).status_code == 303
    assert (customer.data_of(path)["name"], customer.data_of(path)["to"]) == ("Summer", f"{LATE}:00Z")
    assert send(browser, browser.get(f"{path}/edit"), {"to": ""}).status_code == 303
    assert customer.data_of(path)["to"] is None
    assert "End it first" in browser.get(f"{path}/delete").text
    end = browser.get(f"{path}/end")
    assert [send(browser, end, {}).status_code for _ in range(2)] == [303, 422]
    assert customer.data_of(path)["status"] == "completed"
    assert "It is not in force" in browser.get(f"{path}/end").text
    assert send(browser, browser.get(f"{path}/edit"), {"name": "Past summer"}).status_code == 303
    assert customer.data_of(path)["name"] == "Past summer"
    delete = browser.get(f"{path}/delete")
    assert [send(browser, delete, {}).status_code for _ in range(2)] == [303, 404]
    assert "No holdout yet" in browser.get(f"{project}/holdouts").text


def test_results_stand_beside_the_sum_of_the_winners(
    browser: TestClient, customer: Customer, project: str, sign_in: SignIn
) -> None:
    path = customer.a_holdout(project)
    with_winner(customer, project, 1100, "One-page checkout")
    with_orders(customer, path)
    page = browser.get(path).text
    # 50% against 30%, of the visitors that test_programme has.
    assert "Orders by <strong>+66.7%</strong> (95% interval +9.3% to +177.9%)" in page
    assert "at 95%" in page
    assert "1 day counted" in page
    assert "Checks of the data" in page
    lift = customer.data_of(f"{project}/programme")["metrics"][0]["winners"]["lift"]
    assert f'data-head="Given all tests">{lift:+.1f}%' in page
    assert "The two differ." in page
    assert all(f'href="{path}/{step}"' in page for step in ("edit", "end"))
    reader = sign_in(customer.with_key("experiments:read", "results:read").token)
    read = reader.get(path).text
    assert "+66.7%" in read
    for text in (read, reader.get(f"{project}/holdouts").text):
        assert not any(f'href="{path}/{step}"' in text for step in ("edit", "end", "delete"))
        assert "New holdout" not in text
    assert [reader.get(f"{path}/{step}").status_code for step in ("edit", "end", "delete")] == [403] * 3


def test_a_holdout_of_a_group_is_told_from_one_of_the_project(
    browser: TestClient, customer: Customer, project: str
) -> None:
    metric = customer.a_metric(project).rpartition("/")[2]
    assert 'name="group_id"' not in browser.get(f"{project}/holdouts/new").text
    group = customer.post(f"{project}/groups", {"name": HOSTILE}).json()["data"]["id"]
    page = browser.get(f"{project}/holdouts/new")
    gone = send(browser, page, {"name": "Checkout", "goals[0].metric_id": metric, "group_id": "grp_gone"})
    assert (gone.status_code, 'id="problem-group_id"' in gone.text) == (422, True)
    path = send(browser, gone, {"group_id": group}).headers["location"]
    assert customer.data_of(path)["group_id"] == group
    assert "what all tests and rollouts of the group together were worth" in browser.get(path).text
    # That of the programme is of the whole project.
    assert "Holdout:" not in browser.get(f"{project}/programme").text
    assert customer.a_holdout(project) in browser.get(f"{project}/programme").text
    assert browser.get(f"{project}/holdouts").text.count("&lt;script&gt;") == 1
    assert send(browser, browser.get(f"{path}/end"), {}).status_code == 303
    assert send(browser, browser.get(f"{project}/groups/{group}/delete"), {}).status_code == 303
    for address in (path, f"{project}/holdouts"):
        assert "a deleted group" in browser.get(address).text


def test_a_scheduled_holdout_has_no_results_yet(
    browser: TestClient, customer: Customer, project: str
) -> None:
    metric = customer.a_metric(project).rpartition("/")[2]
    page = browser.get(f"{project}/holdouts/new")
    made = send(browser, page, {"name": "Next", "from": LATE, "goals[0].metric_id": metric})
    path = made.headers["location"]
    assert "It has not begun" in browser.get(path).text
    assert f'href="{path}/delete"' in browser.get(f"{project}/holdouts").text
    # Its end must lie after its start.
    refused = send(browser, browser.get(f"{path}/edit"), {"to": "2098-01-01T00:00"})
    assert (refused.status_code, "after its start" in refused.text) == (422, True)
