"""Steps of a funnel in the form of a draft: one a line, and nothing of them is lost."""

from fastapi.testclient import TestClient

from api.dashboard.drafts.step_lines import lines_of_steps, steps_of_lines
from tests.api.customers import Customer
from tests.api.dashboard.drafts.test_draft_pages import fields_of, send

STEPS = "goals[0].config.steps"


def test_lines_are_what_a_step_tracks_or_all_of_it() -> None:
    steps = [{"url": "/cart"}, {"url": "/pay", "match_type": "starts_with"}]
    lines = lines_of_steps(steps, "pageview")
    assert lines == '/cart\n{"url": "/pay", "match_type": "starts_with"}'
    assert steps_of_lines(lines.split("\n"), "pageview") == steps
    assert steps_of_lines(["{no json", "a"], "custom_event") == ["{no json", {"event_name": "a"}]


def test_a_funnel_is_edited_and_kept(customer: Customer, project: str, browser: TestClient) -> None:
    other = {"goal_type": "pageview", "url": "/cart"}
    config = {"event_name": "order", "measure": "funnel", "steps": [{"event_name": "view"}, other]}
    goals = [{"name": "Bought", "goal_type": "custom_event", "config": config}]
    draft = customer.an_experiment(project, goals=goals)
    before = customer.data_of(draft)["goals"]
    page = browser.get(f"{draft}/edit")
    assert fields_of(page)[STEPS].splitlines()[0] == "view"
    assert send(browser, page).status_code == 303
    assert customer.data_of(draft)["goals"] == before
    changed = send(browser, browser.get(f"{draft}/edit"), **{STEPS: "view\r\nbasket\r\n"})
    assert changed.status_code == 303
    (goal,) = customer.data_of(draft)["goals"]
    assert [step["event_name"] for step in goal["config"]["steps"]] == ["view", "basket"]


def test_a_step_that_is_wrong_is_said_beside_the_field(
    customer: Customer, project: str, browser: TestClient
) -> None:
    page = browser.get(f"{project}/experiments/new")
    typed = {"goals[0].name": "Bought", "goals[0].config.event_name": "order", "name": "Funnel"}
    refused = send(browser, page, **typed, **{"goals[0].config.measure": "funnel", STEPS: '{"event": 1}'})
    assert refused.status_code == 422
    assert f'id="problem-{STEPS}"' in refused.text
    assert "event" in fields_of(refused)[STEPS]
    measured = {"goals[0].config.measure": "funnel", STEPS: "view\nbasket"}
    created = send(browser, page, **typed, **measured)
    assert created.status_code == 303
    (goal,) = customer.data_of(created.headers["location"])["goals"]
    assert [step["event_name"] for step in goal["config"]["steps"]] == ["view", "basket"]
