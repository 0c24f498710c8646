"""Pages of an experiment: its verdict, its numbers, and the steps of its life."""

import re

import pytest
from fastapi.testclient import TestClient
from markupsafe import escape

from pipeline.results.results import Results
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token


def send_visitors(customer: Customer, experiment: str, counts: dict[int, tuple[int, int]]) -> None:
    """Expose visitors to variants by place, so many of whom convert."""
    data = customer.data_of(experiment)
    batch = []
    for place, (visitors, conversions) in counts.items():
        for number in range(visitors):
            visitor = {"visitor_id": f"{data['id']}-{place}-{number}"}
            event = {"experiment_id": data["id"], "variant_id": data["variants"][place]["id"]}
            batch.append({"event_id": f"x-{visitor['visitor_id']}", "type": "exposure", **visitor, **event})
            if number < conversions:
                goal = {"type": "custom_event", "event_name": "purchase"}
                batch.append({"event_id": f"c-{visitor['visitor_id']}", **goal, **visitor})
    for first in range(0, len(batch), 500):
        body = {"project_id": experiment.split("/")[2], "batch": batch[first : first + 500]}
        answer = customer.post("/sdk/track", body).json()
        assert answer["rejected"] == 0, answer


def test_the_page_has_the_numbers_of_the_api(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    send_visitors(customer, experiment, {0: (300, 12), 1: (310, 24)})
    results = customer.data_of(f"{experiment}/results")
    page = browser.get(experiment).text
    (variants,) = results["variants"].values()
    assert [one["visitors"] for one in variants] == [300, 310]
    for one in variants:
        assert f'data-label="Visitors">{one["visitors"]}</td>' in page
        assert f"{one['conversion_rate']:.2f}%" in page
    decision = results["decision_summary"]
    assert str(escape(decision["headline"])) in page
    assert str(escape(decision["next_step"])) in page


def test_the_page_says_what_is_compared(customer: Customer, project: str, browser: TestClient) -> None:
    experiment = customer.an_experiment(project, unit={"attribute": "account"})
    customer.post(f"{experiment}/start")
    data = customer.data_of(experiment)
    batch = [
        {
            "event_id": f"x{number}",
            "type": "exposure",
            "visitor_id": f"v{number}",
            "experiment_id": data["id"],
            "variant_id": data["variants"][number % 24 % 2]["id"],
            "attributes": {"account": number % 24},
        }
        for number in range(240)
    ]
    answer = customer.post("/sdk/track", {"project_id": project.split("/")[2], "batch": batch}).json()
    assert answer["rejected"] == 0
    page = browser.get(experiment).text
    assert "Compared by account, not by visitor." in page
    assert page.count('data-label="Visitors">120<span class="sub">12 units</span></td>') == 2
    assert "Not compared at once: variants are compared by account, not by visitor" in page
    assert browser.get(f"{experiment}?device_type=desktop").status_code == 200


def test_nothing_is_coloured_before_it_is_decided(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    send_visitors(customer, experiment, {0: (400, 4), 1: (400, 60)})
    results = customer.data_of(f"{experiment}/results")
    assert results["decision_summary"]["recommendation"] not in {"ship", "rollback"}
    (variants,) = results["variants"].values()
    assert variants[1]["status"] == "winner"
    page = browser.get(experiment).text
    assert page.count(">Unclear</span>") == 1
    assert '<span class="tag neutral pill">' in browser.get(f"{experiment}?visitor_type=new").text
    assert not {"positive", "negative"} & {*coloured(page)}


def coloured(page: str) -> list[str]:
    """The classes by which bars, large numbers and results are coloured."""
    return re.findall(r'class="(?:bar|big|tag|card verdict) (\w*)', page.partition('id="goals"')[2])


def test_a_broken_split_greys_the_numbers_out(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    send_visitors(customer, experiment, {0: (400, 20), 1: (200, 20)})
    page = browser.get(experiment).text
    assert ">Fix data</span>" in page
    assert not {"positive", "negative"} & {*coloured(page)}
    # Said once, above the verdict, with what to do.
    assert page.count("Sample ratio mismatch: &#39;") == 1
    assert (
        page.index("Sample ratio mismatch") < page.index("then start a new test") < page.index('id="verdict"')
    )


def test_an_experiment_without_visitors_has_a_page(experiment: str, browser: TestClient) -> None:
    page = browser.get(experiment)
    assert page.status_code == 200
    assert "Nothing is counted yet" in page.text
    # Without a number its axis could not be drawn.
    assert "charts/improvements" not in page.text


def test_a_draft_shows_its_settings_and_its_start(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project)
    page = browser.get(path).text
    assert "Not started yet" in page
    assert f'href="{path}/start"' in page
    assert f'href="{path}/pause"' not in page
    assert "(50%)" in page


def test_steps_are_confirmed_and_carried_out(customer: Customer, project: str, browser: TestClient) -> None:
    path = customer.an_experiment(project)
    for step, status in {
        "start": "running",
        "pause": "paused",
        "resume": "running",
        "complete": "completed",
        "archive": "archived",
    }.items():
        before = customer.data_of(path)["status"]
        confirmation = browser.get(f"{path}/{step}")
        assert customer.data_of(path)["status"] == before
        answer = browser.post(f"{path}/{step}", data={"form_token": form_token(confirmation)})
        assert (answer.status_code, answer.headers["location"]) == (303, path)
        assert customer.data_of(path)["status"] == status


def test_the_end_of_an_experiment_says_which_outcomes_it_loses(
    customer: Customer, project: str, browser: TestClient
) -> None:
    config = {"event_name": "purchase", "window": 14}
    path = customer.an_experiment(
        project, goals=[{"name": "Purchase", "goal_type": "custom_event", "config": config}]
    )
    assert customer.post(f"{path}/start").status_code == 200
    assert "still to come" not in browser.get(f"{path}/complete").text
    send_visitors(customer, path, {0: (2, 0), 1: (3, 1)})
    page = browser.get(f"{path}/complete").text
    assert "The outcomes of 5 visitors are still to come, and are lost with the end." in page
    assert f'href="{path}/pause"' in page
    assert "still to come" not in browser.get(f"{path}/pause").text
    # The API's answer says the same.
    answer = customer.post(f"{path}/complete").json()["data"]
    assert (answer["status"], answer["open_visitors"]) == ("completed", 5)


def test_a_step_that_is_sent_twice_says_why_it_is_not_possible(experiment: str, browser: TestClient) -> None:
    token = form_token(browser.get(f"{experiment}/pause"))
    assert browser.post(f"{experiment}/pause", data={"form_token": token}).status_code == 303
    again = browser.post(f"{experiment}/pause", data={"form_token": token})
    assert 400 <= again.status_code < 500
    assert "paused" in again.text


def test_a_reading_key_takes_no_step(customer: Customer, experiment: str, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key("experiments:read").token)
    token = form_token(reader.get(f"{experiment}/pause"))
    assert reader.post(f"{experiment}/pause", data={"form_token": token}).status_code == 403
    assert customer.data_of(experiment)["status"] == "running"


def test_filters_are_in_the_address(customer: Customer, experiment: str, browser: TestClient) -> None:
    send_visitors(customer, experiment, {0: (20, 2), 1: (20, 2)})
    page = browser.get(f"{experiment}?device_type=mobile&browser=")
    assert page.status_code == 200
    assert '<span class="soft">Device type</span> mobile' in page.text
    # The options of the page go with the filters, and the exports have those alone.
    assert f'href="{experiment}?device_type=mobile&amp;show=absolute"' in page.text
    assert "export?format=csv&amp;device_type=mobile" in page.text


@pytest.mark.parametrize("query", ["device_type=nonsense", "custom_dimension_key=a", "as_of=yesterday"])
def test_a_wrong_filter_is_an_error_in_words(query: str, experiment: str, browser: TestClient) -> None:
    for path in (experiment, f"{experiment}/charts/rates/light.json"):
        answer = browser.get(f"{path}?{query}")
        assert answer.status_code == 422
        assert "<h1>Not valid</h1>" in answer.text


def test_results_need_the_permissions_of_the_api(
    customer: Customer, experiment: str, sign_in: SignIn
) -> None:
    paths = (experiment, f"{experiment}/charts/rates/light.json")
    reader = sign_in(customer.with_key("experiments:read").token)
    for path in paths:
        page = reader.get(path)
        assert page.status_code == 403
        assert "this key lacks the scope results:read" in page.text
    elsewhere = customer.a_project().rpartition("/")[2]
    other = sign_in(customer.with_key("experiments:read", "results:read", project_ids=(elsewhere,)).token)
    for path in paths:
        assert other.get(path).status_code == 404


def test_an_unknown_step_is_no_page(experiment: str, browser: TestClient) -> None:
    assert browser.get(f"{experiment}/explode").status_code == 404


def test_intervals_that_hold_at_every_look_are_drawn_and_told(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    assert "at every look</span>" not in browser.get(experiment).text
    send_visitors(customer, experiment, {0: (200, 30), 1: (200, 40)})
    page = browser.get(experiment).text
    assert "at every look</span>" in page
    assert 'class="whisk"' in page


def test_the_page_lists_the_visitors_at_each_step_of_a_funnel(
    customer: Customer, project: str, browser: TestClient
) -> None:
    config = {"event_name": "purchase", "measure": "funnel", "steps": [{"event_name": "<cart>"}]}
    goal = {"name": "Funnel", "goal_type": "custom_event", "is_primary": True, "config": config}
    experiment = customer.an_experiment(project, goals=[goal])
    customer.post(f"{experiment}/start")
    send_visitors(customer, experiment, {0: (30, 12), 1: (31, 24)})
    body = {
        "project_id": experiment.split("/")[2],
        "batch": [
            {
                "event_id": f"cart-{number}",
                "type": "custom_event",
                "event_name": "<cart>",
                "visitor_id": f"{experiment.split('/')[-1]}-1-{number}",
            }
            for number in range(3)
        ],
    }
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    page = browser.get(experiment).text
    assert "31 visitors → &lt;cart&gt; 3 → purchase 0" in page
    assert 'data-label="Value">0.00%</td>' in page


def test_the_page_shows_quantiles_of_visitors_and_of_events(
    customer: Customer, project: str, browser: TestClient
) -> None:
    config = {"event_name": "load", "measure": "quantile", "direction": "decrease"}
    goals = [
        {"name": "Median", "goal_type": "custom_event", "is_primary": True, "config": config},
        {"name": "Slowest", "goal_type": "custom_event", "config": {**config, "q": 0.9, "of": "event"}},
    ]
    experiment = customer.an_experiment(project, goals=goals)
    customer.post(f"{experiment}/start")
    send_visitors(customer, experiment, {0: (150, 0), 1: (150, 0)})
    load = {"type": "custom_event", "event_name": "load"}
    batch = [
        {
            "event_id": f"l-{arm}-{number}-{place}",
            "visitor_id": f"{experiment.split('/')[-1]}-{arm}-{number}",
            "value": (1 + arm) * (number + 1),
            **load,
        }
        for arm in range(2)
        for number in range(150)
        for place in range(1 + number % 2)
    ]
    body = {"project_id": experiment.split("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    page = browser.get(experiment).text
    assert "had a 0.5 quantile of" in page
    assert browser.get(f"{experiment}/charts/improvements/light.json").status_code == 200


def test_segments_that_cannot_be_computed_hide_no_results(
    customer: Customer, experiment: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise OSError("a disk")

    send_visitors(customer, experiment, {0: (30, 1), 1: (31, 2)})
    monkeypatch.setattr(Results, "segments", fail)
    page = browser.get(experiment).text
    assert "They could not be computed. Reload the page in a moment." in page
    assert 'data-label="Visitors">31</td>' in page
