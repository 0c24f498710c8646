"""Pages that create and edit drafts, as a browser without scripts sends them."""

import html
import json
import re
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import form_token
from tests.api.request_bodies import PURCHASE

FIELD = re.compile(
    r'<input [^>]*?type="radio" name="(?P<radio>[^"]+)" value="(?P<place>\d+)" checked'
    r'|<input [^>]*?type="checkbox" id="[^"]+" name="(?P<box>[^"]+)"[^>]*? checked'
    r'|<input type="hidden" name="(?P<hidden>[^"]+)" value="(?P<kept>[^"]*)"'
    r'|<input id="[^"]+" name="(?P<name>[^"]+)"[^>]*? value="(?P<value>[^"]*)"'
    r'|<textarea id="[^"]+" name="(?P<area>[^"]+)"[^>]*>\n(?P<text>[^<]*)</textarea>'
    r'|<select id="[^"]+" name="(?P<select>[^"]+)"[^>]*>(?P<options>.*?)</select>',
    re.DOTALL,
)


def fields_of(page: httpx2.Response) -> dict[str, str]:
    """What a browser would send of the form of a page."""
    text = page.text.partition('<form id="draft"')[2].partition("</form>")[0]
    found = {}
    for match in FIELD.finditer(text):
        options = re.findall(r'<option(?: value="([^"]*)")?( selected)?>([^<]*)', match["options"] or "")
        chosen = [value or label for value, mark, label in options if mark]
        name = (
            match["radio"]
            or match["box"]
            or match["hidden"]
            or match["name"]
            or match["area"]
            or match["select"]
        )
        first = [value for value, _, _ in options]
        value = {
            "radio": match["place"],
            "box": "on",
            "hidden": match["kept"],
            "name": match["value"],
            "area": match["text"],
            "select": (chosen or first or [""])[0],
        }
        kind = next(kind for kind in value if match[kind])
        found[name] = html.unescape(value[kind] or "")
    assert "form_token" in found
    return found


def send(browser: TestClient, page: httpx2.Response, action: str = "save", **typed: str) -> httpx2.Response:
    names = {name.replace("__", "."): value for name, value in typed.items()}
    return browser.post(page.url.path, data={**fields_of(page), **names, "action": action})


WHOLE: dict[str, Any] = {
    "hypothesis": "A shorter text\nsells more.",
    "url_rules": [{"type": "exclude", "match_type": "contains", "value": "/admin"}],
    "traffic_allocation": 40,
    "ramp": {"steps": [{"percent": 5, "hours": 12.5}, {"percent": 100, "hours": None}], "on_harm": "pause"},
    "scheduled_start_at": "2030-01-01T10:00:00Z",
    "stop_conditions": {"visitor_limit": 5000, "auto_stop_on_winner": True},
    "statistics": {
        "sequential": "always_valid",
        "minimum_effect_percent": 2.5,
        "cuped": True,
        "covariates": ["pre_period", "country", "custom:plan"],
    },
    "targeting_rules": {
        "version": 2,
        "root": {
            "operator": "or",
            "children": [
                {"field": "country", "operator": "in", "values": ["DE", "AT"]},
                {"field": "cookie", "operator": "exists", "values": [], "key": "seen"},
            ],
        },
    },
    "goals": [
        PURCHASE,
        {"name": "Views", "goal_type": "pageview", "config": {"url": "/cart", "match_type": "contains"}},
        {
            "name": "Money",
            "goal_type": "revenue",
            "config": {"max_cents": 100000, "guardrail_margin_absolute": 5, "direction": "increase"},
        },
        {
            "name": "Per view",
            "goal_type": "custom_event",
            "config": {
                "event_name": "add",
                "measure": "ratio",
                "denominator": {"goal_type": "custom_event", "event_name": "view", "measure": "count"},
            },
        },
    ],
}
CHANGING = {"updated_at"}


@pytest.mark.parametrize("fields", [WHOLE, {"unit": "user"}, {"unit": {"attribute": "account"}}])
def test_a_form_that_is_saved_as_it_is_changes_nothing(
    customer: Customer, project: str, browser: TestClient, fields: dict[str, Any]
) -> None:
    path = customer.an_experiment(project, **fields)
    before = customer.data_of(path)
    assert before["unit"] == fields.get("unit", "visitor")
    saved = send(browser, browser.get(f"{path}/edit"))
    assert (saved.status_code, saved.headers["location"]) == (303, path)
    after = customer.data_of(path)
    assert {name: after[name] for name in after if name not in CHANGING} == {
        name: before[name] for name in before if name not in CHANGING
    }


def test_a_ramp_is_given_changed_refused_and_taken_away(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project)
    offered = send(browser, browser.get(f"{path}/edit"), action="ramp", name="Ramped")
    assert offered.status_code == 200
    assert "Pause stops newcomers only: those assigned keep their variant" in offered.text
    assert customer.data_of(path)["ramp"] is None
    fewer = send(browser, offered, action="remove:ramp.steps[1]")
    refused = send(browser, fewer, **{"ramp__steps[1]__percent": "1", "ramp__steps[0]__hours": ""})
    assert refused.status_code == 422
    for field in ("ramp.steps[0].hours", "ramp.steps[1].percent"):
        assert f'id="problem-{field}"' in refused.text, field
    right = {"ramp__steps[1]__percent": "30", "ramp__steps[0]__hours": "12", "ramp__on_harm": "tell"}
    assert send(browser, refused, **right).status_code == 303
    saved = customer.data_of(path)
    steps = [(one["percent"], one["hours"]) for one in saved["ramp"]["steps"]]
    assert (saved["name"], steps) == ("Ramped", [(1, 12), (30, 48), (100, None)])
    assert saved["ramp"]["on_harm"] == "tell"
    without = send(browser, browser.get(f"{path}/edit"), action="no_ramp")
    assert 'name="ramp.steps[0]' not in without.text
    assert send(browser, without).status_code == 303
    assert customer.data_of(path)["ramp"] is None


def test_the_page_of_a_ramped_test_says_what_follows(
    customer: Customer, project: str, browser: TestClient
) -> None:
    steps = [{"percent": 5, "hours": 24}, {"percent": 100}]
    path = customer.an_experiment(project, ramp={"steps": steps, "on_harm": "pause"})
    text = browser.get(path).text
    assert "5% for 24 hours, then 100%" in text
    assert "step 1 of 2" not in text
    assert customer.post(f"{path}/start").status_code == 200
    text = browser.get(path).text
    assert "step 1 of 2. 100% follows in 24 hours, unless a check alarms before." in text
    assert "Pause stops newcomers only" in text
    # Locked, so that what is sent as it was changes nothing.
    assert customer.post(f"{path}/pause").status_code == 200
    assert send(browser, browser.get(f"{path}/edit"), hypothesis="Slow").status_code == 303
    assert "100% waits: the test is paused, with 24 hours to go." in browser.get(path).text


def test_weights_that_move_go_on_to_move_after_a_save(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project, traffic_strategy="bandit")
    assert send(browser, browser.get(f"{path}/edit"), name="Renamed").status_code == 303
    ids = project.rsplit("/", 1)[1], path.rsplit("/", 1)[1]
    stored = customer.services.catalog.experiments.get(*ids)
    assert (stored.name, stored.traffic_strategy) == ("Renamed", "bandit")
    assert send(browser, browser.get(f"{path}/edit"), traffic_strategy="fixed").status_code == 303
    assert customer.services.catalog.experiments.get(*ids).traffic_strategy == "fixed"


def test_a_draft_is_assigned_by_accounts(customer: Customer, project: str, browser: TestClient) -> None:
    path = customer.an_experiment(project)
    page = browser.get(f"{path}/edit")
    refused = send(browser, page, unit="attribute", unit__attribute="country")
    assert "is an attribute that the service reads" in refused.text
    assert send(browser, page, unit="attribute", unit__attribute="account").status_code == 303
    assert customer.data_of(path)["unit"] == {"attribute": "account"}
    assert "100% of eligible visitors, assigned by account</dd>" in browser.get(path).text
    assert send(browser, browser.get(f"{path}/edit"), unit="visitor").status_code == 303
    assert customer.data_of(path)["unit"] == "visitor"


def test_a_new_draft_is_created_once(customer: Customer, project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/experiments/new")
    typed = {"name": "A <b>", "goals[0]__name": "Buys", "goals[0]__config__event_name": "purchase"}
    first, second = (send(browser, page, **typed) for _ in range(2))
    assert first.status_code == 303, first.text
    assert first.headers["location"] == second.headers["location"]
    created = customer.data_of(first.headers["location"])
    assert [one["name"] for one in created["variants"]] == ["Control", "Variant B"]
    assert [one["is_control"] for one in created["variants"]] == [True, False]
    assert created["goals"][0]["config"] == {"event_name": "purchase"}
    assert created["url"] == "https://shop.example"


def test_problems_stand_beside_their_fields_and_nothing_is_lost(project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/experiments/new")
    typed = {
        "name": "",
        "hypothesis": "Kept <text>",
        "variants[0]__weight": "9" * 400,
        "variants[1]__weight": "much",
        "traffic_allocation": "140",
        "goals[0]__name": "Buys",
        "statistics__minimum_effect_percent": "1e999",
        "statistics__cuped": "on",
        "statistics__covariates": "country\nshoe_size",
    }
    refused = send(browser, page, **typed)
    assert refused.status_code == 422
    text = refused.text
    places = set(re.findall(r'class="problem" id="problem-([^"]+)"', text))
    assert places == {
        *("name", "variants[0].weight", "variants[1].weight", "traffic_allocation"),
        *("goals[0].config.event_name", "statistics.minimum_effect_percent", "statistics.covariates"),
    }
    assert 'id="traffic_allocation" name="traffic_allocation" aria-invalid="true"' in text
    kept = fields_of(refused)
    assert {name.replace("__", "."): value for name, value in typed.items()}.items() <= kept.items()


def test_rows_are_added_and_removed_without_saving(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project)
    page = browser.get(f"{path}/edit")
    added = send(browser, page, "add:variants", name="Typed")
    assert fields_of(added)["variants[2].weight"] == "1"
    assert fields_of(added)["name"] == "Typed"
    removed = send(browser, added, "remove:variants[0]", **{"variants[2]__name": "Third"})
    kept = fields_of(removed)
    assert [kept["variants[0].name"], kept["variants[1].name"]] == ["Treatment", "Third"]
    assert kept["control"] == "0"
    # The changes of a variant move with it.
    assert kept["variants[0].changes[0].value"] == "Buy now"
    assert customer.data_of(path)["name"] == "Checkout button"
    assert send(browser, removed).status_code == 303
    saved = customer.data_of(path)
    assert saved["name"] == "Typed"
    assert [(one["name"], len(one["changes"])) for one in saved["variants"]] == [
        ("Treatment", 1),
        ("Third", 0),
    ]


def test_fields_are_emptied_and_lists_too(customer: Customer, project: str, browser: TestClient) -> None:
    path = customer.an_experiment(project, **WHOLE)
    page = browser.get(f"{path}/edit")
    for row in ("url_rules[0]", "targeting_rules.root.children[1]", "targeting_rules.root.children[0]"):
        page = send(browser, page, f"remove:{row}")
    page = send(browser, page, "remove:variants[1].changes[0]")
    empty = {
        "hypothesis": "",
        "scheduled_start_at": "",
        "stop_conditions__visitor_limit": "",
        "goals[1]__config__match_type": "",
    }
    assert send(browser, page, **empty).status_code == 303
    saved = customer.data_of(path)
    assert (saved["hypothesis"] or "", saved["scheduled_start_at"]) == ("", None)
    assert saved["url_rules"] == []
    assert saved["targeting_rules"]["root"]["children"] == []
    assert saved["stop_conditions"]["visitor_limit"] is None
    assert saved["goals"][1]["config"] == {"url": "/cart"}
    assert saved["variants"][1]["changes"] == []


def test_groups_of_rules_are_edited_as_json(customer: Customer, project: str, browser: TestClient) -> None:
    inside = {"operator": "or", "children": [{"field": "os", "operator": "equals", "values": ["iOS"]}]}
    rules = {"version": 2, "root": {"operator": "and", "children": [inside]}}
    path = customer.an_experiment(project, targeting_rules=rules)
    page = browser.get(f"{path}/edit")
    assert send(browser, page, name="New").status_code == 303
    assert customer.data_of(path)["targeting_rules"]["root"] == rules["root"]
    half = json.dumps({"field": "os", "operator": "equals", "values": ["\ud800"]})
    for wrong in (
        "{not json",
        '{"version": 2, "root": {"operator": "xor", "children": []}}',
        f'{{"version": 2, "root": {{"operator": "and", "children": [{half}]}}}}',
        '{"version": NaN}',
        "[" * 5_000,
    ):
        refused = send(browser, browser.get(f"{path}/edit"), targeting_rules=wrong)
        assert refused.status_code == 422
        assert 'id="problem-targeting_rules"' in refused.text
        assert fields_of(refused)["targeting_rules"] == wrong


def test_a_goal_of_a_metric_follows_it(customer: Customer, project: str, browser: TestClient) -> None:
    metric = customer.a_metric(project).rpartition("/")[2]
    path = customer.an_experiment(project)
    typed = {"goals[0]__metric_id": metric, "goals[0]__config__minimum_effect_percent": "3"}
    saved = send(browser, browser.get(f"{path}/edit"), **typed)
    assert saved.status_code == 303, saved.text
    goal = customer.data_of(path)["goals"][0]
    assert (goal["metric_id"], goal["config"]["event_name"]) == (metric, "sign_up")
    back = send(browser, browser.get(f"{path}/edit"), **{"goals[0]__metric_id": ""})
    assert back.status_code == 303, back.text
    assert customer.data_of(path)["goals"][0]["metric_id"] is None


def test_the_sample_is_planned_beside_the_goals(project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/experiments/new")
    planned = send(browser, page, "plan", plan__baseline_rate="5", plan__daily_visitors="1000")
    assert planned.status_code == 200
    total = re.search(r'value="take:(\d+)"', planned.text)
    assert total is not None
    taken = send(browser, planned, f"take:{total[1]}")
    assert fields_of(taken)["statistics.planned_sample"] == total[1]
    refused = send(browser, page, "plan", plan__baseline_rate="500")
    assert refused.status_code == 422
    assert 'id="problem-plan.baseline_rate"' in refused.text


def test_a_running_experiment_is_not_edited_and_a_paused_one_in_part(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    page = browser.get(f"{experiment}/edit")
    refused = send(browser, page, name="Other")
    assert refused.status_code == 422
    assert "is running; pause it" in refused.text
    assert f'href="{experiment}/edit"' not in browser.get(experiment).text
    assert customer.post(f"{experiment}/pause").status_code == 200
    assert f'href="{experiment}/edit"' in browser.get(experiment).text
    assert send(browser, page, name="Other").status_code == 303
    locked = send(browser, browser.get(f"{experiment}/edit"), url="https://x.example")
    assert locked.status_code == 422
    assert 'id="problem-url"' in locked.text


def test_a_form_without_its_token_saves_nothing(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project)
    # The form is shown again instead, with what was typed.
    assert send(browser, browser.get(f"{path}/edit"), name="No", form_token="0" * 64).status_code == 303
    assert send(browser, browser.get(f"{path}/edit"), form_token="0" * 64, seal="").status_code == 403
    assert customer.data_of(path)["name"] == "Checkout button"


@pytest.mark.parametrize(
    "action", ["add:nothing", "remove:variants[x]", "remove:variants", "take:x", "explode"]
)
def test_an_unknown_button_keeps_the_form(action: str, project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/experiments/new")
    answer = send(browser, page, action, name="Typed")
    assert answer.status_code == 200
    assert fields_of(answer)["name"] == "Typed"
    assert fields_of(answer)["variants[1].name"] == "Variant B"


def test_hostile_fields_are_texts(customer: Customer, project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/experiments/new")
    hostile = '"><script>alert(1)</script>'
    answer = send(browser, page, **{"name": hostile, "goals[9999]__name": "x", "unknown": "y"})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    assert "goals[1]" not in answer.text
    assert form_token(answer) == form_token(page)


def test_a_draft_takes_a_group_and_gives_it_up(browser: TestClient, customer: Customer, project: str) -> None:
    draft = customer.an_experiment(project)
    assert 'name="group.id"' not in browser.get(f"{draft}/edit").text
    group_id = customer.a_group(project).rpartition("/")[2]
    page = browser.get(f"{draft}/edit")
    assert "Checkout pages: 100% free" in page.text
    refused = send(browser, page, group__id=group_id, group__percent="many")
    assert (refused.status_code, 'id="problem-group.percent"' in refused.text) == (422, True)
    assert send(browser, page, group__id=group_id, group__percent="40").status_code == 303
    assert customer.data_of(draft)["group"] == {"id": group_id, "percent": 40}
    page = browser.get(f"{draft}/edit")
    assert (fields_of(page)["group.id"], fields_of(page)["group.percent"]) == (group_id, "40")
    assert send(browser, page, group__id="").status_code == 303
    assert customer.data_of(draft)["group"] is None
