"""Pages of the metric library: created, changed as a new version, told to whom it matters, and deleted."""

from fastapi.testclient import TestClient

from engine.design.metrics.metric_goals import OWN_KEYS
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send

HOSTILE = "<script>alert(1)</script>"


def a_use(customer: Customer, metric: str, name: str) -> str:
    """An experiment whose goal is of a metric; returns its path."""
    project, _, metric_id = metric.partition("/metrics/")
    goals = [{"name": "Of a metric", "metric_id": metric_id, "is_primary": True}]
    return customer.an_experiment(project, name=name, goals=goals)


def test_a_metric_is_created_once_and_listed(browser: TestClient, customer: Customer, project: str) -> None:
    assert "No metric yet" in browser.get(f"{project}/metrics").text
    page = browser.get(f"{project}/metrics/new")
    assert not any(f'name="config.{key}"' in page.text for key in OWN_KEYS)
    refused = send(browser, page, {"name": HOSTILE, "config.window": "many"})
    assert refused.status_code == 422
    assert 'id="problem-config.window"' in refused.text
    assert 'id="problem-config' in refused.text
    typed: dict[str, str | None] = {
        "config.window": "7",
        "config.event_name": "bought",
        "config.measure": "funnel",
        "config.steps": "seen\ncart",
    }
    answers = [send(browser, refused, typed) for _ in range(2)]
    assert [one.headers.get("location") for one in answers] == [f"{project}/metrics?saved=yes"] * 2
    (metric,) = customer.get(f"{project}/metrics").json()["data"]
    assert metric["config"] == {
        "window": 7,
        "event_name": "bought",
        "measure": "funnel",
        "steps": [{"event_name": "seen"}, {"event_name": "cart"}],
    }
    text = browser.get(f"{project}/metrics?saved=yes").text
    assert "&lt;script&gt;alert" in text
    assert HOSTILE not in text
    kept = fields_of(browser.get(f"{project}/metrics/{metric['id']}"))
    assert (kept["config.steps"], kept["config.window"]) == ("seen\ncart", "7")


def test_a_change_says_whom_it_follows_and_what_keeps_its_version(
    browser: TestClient, customer: Customer, project: str
) -> None:
    metric = customer.a_metric(project)
    draft, running = a_use(customer, metric, "A draft"), a_use(customer, metric, "Running on it")
    assert customer.post(f"{running}/start").status_code == 200
    listed = browser.get(f"{project}/metrics").text
    assert "A draft" in listed
    assert "Running on it" in listed
    page = browser.get(metric)
    # Words change nothing that is counted.
    assert send(browser, page, {"description": "Who signed up"}).status_code == 303
    told = send(browser, browser.get(metric), {"config.event_name": "signed"})
    assert told.status_code == 200
    assert "this is a new version" in told.text
    assert send(browser, told, {}).status_code == 303
    assert customer.data_of(metric)["version"] == 2
    goals = [customer.data_of(path)["goals"][0] for path in (draft, running)]
    assert [(one["metric_version"], one["config"]["event_name"]) for one in goals] == [
        (2, "signed"),
        (1, "sign_up"),
    ]
    # The first tab still has what was there before.
    assert send(browser, page, {"config.event_name": "other"}).status_code == 412
    assert customer.data_of(metric)["config"] == {"event_name": "signed"}


def test_a_metric_of_a_draft_is_not_deleted(browser: TestClient, customer: Customer, project: str) -> None:
    metric = customer.a_metric(project)
    draft = a_use(customer, metric, "A draft")
    asked = browser.get(f"{metric}/delete")
    assert "Take it out of their goals first" in asked.text
    assert "<button>Delete" not in asked.text
    token = {"form_token": fields_of(browser.get(metric))["form_token"]}
    assert browser.post(f"{metric}/delete", data=token).status_code == 422
    assert customer.post(f"{draft}/start").status_code == 200
    assert send(browser, browser.get(f"{metric}/delete"), {}).status_code == 303
    assert customer.get(metric).status_code == 404
    assert browser.get(metric).status_code == 404


def test_a_reading_key_sees_the_library_and_no_forms(
    customer: Customer, project: str, sign_in: SignIn
) -> None:
    metric = customer.a_metric(project)
    reader = sign_in(customer.with_key("projects:read", "experiments:read").token)
    text = reader.get(f"{project}/metrics").text
    assert "Sign-ups" in text
    assert "/metrics/new" not in text
    assert "/delete" not in text
    assert [reader.get(f"{project}/metrics/new").status_code, reader.get(metric).status_code] == [403, 403]
