"""Rows of a draft's form: bounded by the API's limits and by what was sent."""

import pytest
from fastapi.testclient import TestClient

from api.dashboard.drafts.draft_form import form_sent, new_form, with_row
from api.dashboard.drafts.form_rows import MOST_ROWS, RowsError, row_counts, without_row
from tests.api.customers import Customer
from tests.api.dashboard.conftest import form_token

# Of docs/limits.md, and the checks of the engine.
LIMITS = {
    "variants": 20,
    "variants[].changes": 500,
    "goals": 50,
    "url_rules": 100,
    "targeting_rules.root.children": 500,
    "ramp.steps": 20,
}


def test_limits_are_those_of_the_api() -> None:
    assert MOST_ROWS == LIMITS


@pytest.mark.parametrize("rows", LIMITS)
def test_more_rows_than_the_api_takes_are_refused(rows: str) -> None:
    path = rows.replace("[]", "[0]")
    names = [f"{path}[{index}].name" for index in range(LIMITS[rows])]
    assert row_counts(names)[path] == LIMITS[rows]
    with pytest.raises(RowsError, match="at most"):
        row_counts([*names, f"{path}[{LIMITS[rows]}].name"])


def test_a_row_without_those_before_it_is_refused() -> None:
    with pytest.raises(RowsError, match=r"variants: a row before variants\[19\] is missing"):
        row_counts(["variants[19].changes[499].value"])
    assert row_counts(["goals[1].name", "goals[0].name"]) == {"goals": 2}


def test_a_form_of_few_bytes_has_few_fields() -> None:
    sparse = {f"variants[{index}].changes[499].value": "" for index in range(20)}
    with pytest.raises(RowsError):
        form_sent(sparse)
    usual = len(new_form())
    for name in ("control", "primary"):
        for place in ("9999", "1000000", "9" * 5000, "-1", "٣", "x"):
            assert len(form_sent({**new_form(), name: place})) == usual
    for path in ("goals[" + "9" * 5000 + "].name", "goals[00].name", "goals[-1].name"):
        assert len(form_sent({**new_form(), path: "x"})) == usual


@pytest.mark.parametrize("rows", LIMITS)
def test_rows_are_added_up_to_the_limit(rows: str) -> None:
    path, form = rows.replace("[]", "[0]"), new_form()
    name = "field" if "children" in rows else "value" if rows == "url_rules" else "name"
    name = "selector" if "changes" in rows else name
    most = LIMITS[rows]
    form |= {f"{path}[{index}].{name}": "" for index in range(most - 1)}
    filled = with_row(form, path)
    assert row_counts(filled)[path] == most
    assert with_row(filled, path) == filled


@pytest.mark.parametrize(
    "rows", ["variants[9].changes", "goals[0]", "nothing", "variants[" + "9" * 5000 + "]"]
)
def test_no_row_is_added_to_a_list_that_the_form_does_not_have(rows: str) -> None:
    form = new_form()
    assert with_row(form, rows) == form
    assert without_row(form, rows + "x") == form


def test_a_form_with_other_rows_is_refused_in_a_sentence(project: str, browser: TestClient) -> None:
    token = form_token(browser.get(f"{project}/experiments/new"))
    for field, words in (("goals[50].name", "at most 50"), ("goals[2].name", "is missing")):
        form = {"form_token": token, field: "x", "goals[0].name": "x"}
        refused = browser.post(f"{project}/experiments/new", data=form)
        assert refused.status_code == 422
        assert words in refused.text


def test_an_experiment_of_the_most_goals_and_pages_is_edited(
    customer: Customer, project: str, browser: TestClient
) -> None:
    goals = [
        {"name": f"G{index}", "goal_type": "custom_event", "config": {"event_name": f"e{index}"}}
        for index in range(50)
    ]
    rules = [{"type": "include", "match_type": "contains", "value": f"/{index}"} for index in range(100)]
    path = customer.an_experiment(project, goals=goals, url_rules=rules)
    page = browser.get(f"{path}/edit")
    assert page.status_code == 200
    assert 'name="goals[49].name"' in page.text
    assert 'name="url_rules[99].value"' in page.text
