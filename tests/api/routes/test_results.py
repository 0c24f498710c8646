from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import CONTROL, PURCHASE, TREATMENT, error_of, fields_of
from tests.api.shapes import DAY, DECISION, GOAL_SUMMARY, HEAD, PLAN, SEGMENTS, VARIANT_RESULT

REVENUE = {"name": "Orders", "goal_type": "revenue", "config": {"event_name": "order"}}


@dataclass(frozen=True, slots=True)
class Observed:
    """A running experiment with a primary and a revenue goal, and its events."""

    customer: Customer
    path: str
    variants: tuple[str, str]
    goals: tuple[str, str]

    def read(self, view: str = "", **query: Any) -> Any:
        answer = self.customer.get(f"{self.path}/results{view}", **query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


@pytest.fixture(scope="module")
def observed(client: TestClient) -> Observed:
    """An experiment of all tests that only read."""
    customer = a_customer_of(client)
    return observe(customer, customer.a_project())


def observe(customer: Customer, project: str) -> Observed:
    """Send 120 visitors a variant, of whom 20 and 60 buy; half are on mobile; one order of $20 each."""
    path = customer.an_experiment(project, goals=[PURCHASE, REVENUE])
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    primary, revenue = (goal["id"] for goal in started["goals"])
    project_id, experiment_id = project.rpartition("/")[2], path.rpartition("/")[2]
    number = count()
    exposures, conversions = [], []
    for variant, buyers in ((control, 20), (treatment, 60)):
        for visitor in range(120):
            visitor_id = f"{variant}-{visitor}"
            exposures.append(
                {
                    "event_id": f"e{next(number)}",
                    "type": "exposure",
                    "visitor_id": visitor_id,
                    "experiment_id": experiment_id,
                    "variant_id": variant,
                    "attributes": {
                        "device_type": "mobile" if visitor % 2 else "desktop",
                        "country": "US" if visitor < 60 else "DE",
                        "plan": "pro",
                    },
                }
            )
            if visitor < buyers:
                conversions.append(
                    {"event_id": f"e{next(number)}", "visitor_id": visitor_id, "goal_id": primary}
                )
        conversions.append(
            {
                "event_id": f"e{next(number)}",
                "visitor_id": f"{variant}-0",
                "goal_id": revenue,
                "revenue_cents": 2000,
            }
        )
    for operation, batch in (("track", exposures), ("convert", conversions)):
        answer = customer.post(f"/sdk/{operation}", {"project_id": project_id, "batch": batch})
        assert answer.json()["rejected"] == 0, answer.text
    return Observed(customer, path, (control, treatment), (primary, revenue))


def test_whole_payload_has_every_key(observed: Observed) -> None:
    data = observed.read()
    assert set(data) == {
        "experiment",
        "variants",
        "goals",
        "goal_summaries",
        "decision_summary",
        "decision_summaries",
        "plan",
        "time_series",
        "available_segments",
        "active_segment",
        "active_days",
        "exploratory",
        "health",
        "estimand",
        "as_of",
        "sums_from",
        "run_id",
    }
    assert set(data["experiment"]) == HEAD
    assert list(data["variants"]) == list(data["goal_summaries"]) == list(observed.goals)
    for results in data["variants"].values():
        assert [result["variant_id"] for result in results] == list(observed.variants)
        assert all(set(result) == VARIANT_RESULT for result in results)
    assert [set(goal) for goal in data["goals"]] == [{"id", "name", "goal_type", "is_primary"}] * 2
    assert all(set(summary) == GOAL_SUMMARY for summary in data["goal_summaries"].values())
    assert set(data["decision_summary"]) == DECISION
    assert [set(decision) for decision in data["decision_summaries"].values()] == [DECISION] * 2
    assert set(data["plan"]) == PLAN
    assert set(data["available_segments"]) == SEGMENTS
    assert (data["active_segment"], data["active_days"], data["exploratory"]) == (None, None, False)
    assert all(set(check) == {"check", "status", "message", "details", "docs"} for check in data["health"])
    assert datetime.fromisoformat(data["as_of"]) <= datetime.now(UTC)


def test_events_become_counts_and_percents(observed: Observed) -> None:
    control, treatment = observed.read()["variants"][observed.goals[0]]
    assert (control["visitors"], control["conversions"], control["conversion_rate"]) == (120, 20, 16.67)
    assert (treatment["visitors"], treatment["conversions"], treatment["conversion_rate"]) == (120, 60, 50.0)
    assert (control["status"], treatment["status"]) == ("control", "winner")
    for name in ("improvement", "confidence", "score_value", "score_progress_percentage", "p_value"):
        assert control[name] is None
    assert treatment["improvement"] == 200.0
    assert treatment["absolute_difference"] == 33.3333
    # From proportions_ztest of statsmodels, 60 of 120 against 20 of 120.
    assert treatment["p_value"] == pytest.approx(4.320463057827465e-08, rel=1e-12)
    assert treatment["confidence"] == treatment["score_value"] == 100.0
    assert treatment["score_progress_percentage"] == 100.0
    assert treatment["log_p_value"] == pytest.approx(np.log(4.320463057827465e-08), rel=1e-12)
    # Wilson's interval of 20 of 120, from proportion_confint of statsmodels.
    assert control["rate_interval"] == {"low": 11.056, "high": 24.3453, "level": 95.0}
    between = treatment["absolute_difference_interval"]
    assert between["low"] < 33.3333 < between["high"]
    assert control["absolute_difference_interval"] is None
    interval = treatment["improvement_interval"]
    assert interval["low"] < 200.0 < interval["high"]
    assert interval["level"] == 95.0


def test_revenue_goal_counts_money(observed: Observed) -> None:
    control, treatment = observed.read()["variants"][observed.goals[1]]
    assert (control["revenue_cents"], treatment["revenue_cents"]) == (2000, 2000)
    assert treatment["revenue_per_visitor_cents"] == pytest.approx(2000 / 120)
    assert treatment["improvement"] == 0.0
    assert treatment["rpv_lift"] == 0.0


def test_decision_is_in_words(observed: Observed) -> None:
    decision = observed.read()["decision_summary"]
    assert (decision["goal_id"], decision["variant_name"]) == (observed.goals[0], "Treatment")
    assert (decision["estimated_uplift"], decision["revenue_currency"]) == (200.0, "USD")
    assert all(decision[name] for name in ("headline", "explanation", "next_step", "confidence_assessment"))


def test_summary_is_the_primary_goal_of_the_whole(observed: Observed) -> None:
    whole, summary = observed.read(), observed.read("/summary")
    primary = observed.goals[0]
    assert summary == {
        "experiment": whole["experiment"],
        "exploratory": False,
        "primary_goal": whole["goals"][0],
        "variants": whole["variants"][primary],
        "primary_goal_summary": whole["goal_summaries"][primary],
        "decision_summary": whole["decision_summary"],
        "plan": {**whole["plan"], "running_days": summary["plan"]["running_days"]},
    }
    assert set(summary["plan"]) == PLAN


def test_days_are_those_of_the_primary_goal_and_add_up(observed: Observed) -> None:
    days = observed.read("/timeseries")
    assert days == observed.read()["time_series"]
    assert [list(day) for day in days] == [["date", "variants"]] * len(days)
    assert all(set(found) == DAY for day in days for found in day["variants"].values())
    for variant, buyers in zip(observed.variants, (20, 60), strict=True):
        assert sum(day["variants"][variant]["visitors"] for day in days) == 120
        assert sum(day["variants"][variant]["conversions"] for day in days) == buyers


def test_days_of_another_goal_are_read_by_its_id(observed: Observed) -> None:
    days = observed.read("/timeseries", goal_id=observed.goals[1])
    assert sum(day["variants"][observed.variants[0]]["revenue_cents"] for day in days) == 2000
    path = f"{observed.path}/results/timeseries"
    answer = observed.customer.get(path, goal_id="goal_other", device_type="fridge")
    error_of(answer, 404, "not_found")


def test_filters_select_visitors_and_are_echoed(observed: Observed) -> None:
    data = observed.read(device_type="mobile", country="US", colour="red")
    control, treatment = data["variants"][observed.goals[0]]
    assert data["active_segment"] == {"device_type": "mobile", "country": "US"}
    assert (control["visitors"], control["conversions"]) == (30, 10)
    assert (treatment["visitors"], treatment["conversions"]) == (30, 30)
    summary = observed.read("/summary", device_type="mobile", country="US")
    assert summary["variants"] == data["variants"][observed.goals[0]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "2026-11-02", "to": "2026-11-01"}, "to"),
        ({"from": "2199-01-01"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"to": "20"}, "to"),
        ({"from": "2026-11-02", "as_of": "2026-11-02"}, "as_of"),
    ],
)
@pytest.mark.parametrize("view", ["", "/summary", "/timeseries"])
def test_days_in_reverse_to_come_or_of_a_past_night_are_refused(
    observed: Observed, view: str, query: dict[str, str], field: str
) -> None:
    answer = observed.customer.get(f"{observed.path}/results{view}", **query)
    assert fields_of(error_of(answer, 422, "validation_error")) == [field]


def test_days_are_refused_where_results_are_not_told_by_them(observed: Observed) -> None:
    for view in ("segments", "export"):
        answer = observed.customer.get(f"{observed.path}/results/{view}", **{"from": "2026-11-02"})
        error_of(answer, 422, "validation_error")


def test_custom_dimension_filters_by_key_and_value(observed: Observed) -> None:
    def visitors(value: str) -> int:
        query = {"custom_dimension_key": "plan", "custom_dimension_value": value}
        found: int = observed.read("/summary", **query)["primary_goal_summary"]["visitors"]
        return found

    assert (visitors("pro"), visitors("free")) == (240, 0)
    dimensions = observed.read()["available_segments"]["custom_dimensions"]
    assert [(found["key"], found["values"]) for found in dimensions] == [("plan", ["pro"])]


def test_available_segments_are_the_values_seen(observed: Observed) -> None:
    available = observed.read()["available_segments"]
    assert sorted(available["device_types"]) == ["desktop", "mobile"]
    assert sorted(available["countries"]) == ["DE", "US"]


def test_value_that_nobody_has_gives_zeros(observed: Observed) -> None:
    data = observed.read(country="ZZ")
    assert [result["visitors"] for result in data["variants"][observed.goals[0]]] == [0, 0]
    assert data["decision_summary"]["recommendation"] == "insufficient_data"


# Queries that are refused, and the fields of their refusals.
NONSENSE: list[tuple[dict[str, str], list[str]]] = [
    ({"device_type": "fridge", "visitor_type": "odd"}, ["device_type", "visitor_type"]),
    ({"day_of_week": "monday"}, ["day_of_week"]),
    ({"visitor_identity": ""}, ["visitor_identity"]),
    ({"custom_dimension_key": "plan"}, ["custom_dimension_value"]),
    ({"custom_dimension_value": "pro"}, ["custom_dimension_key"]),
]


@pytest.mark.parametrize("view", ["", "/summary", "/timeseries"])
def test_filter_that_makes_no_sense_is_invalid(customer: Customer, experiment: str, view: str) -> None:
    for query, fields in NONSENSE:
        answer = customer.get(f"{experiment}/results{view}", **query)
        assert fields_of(error_of(answer, 422, "validation_error")) == fields


def test_draft_has_results_of_nothing(customer: Customer, experiment: str) -> None:
    data = customer.get(f"{experiment}/results").json()["data"]
    (results,) = data["variants"].values()
    assert [result["visitors"] for result in results] == [0, 0]
    assert [result["improvement"] for result in results] == [None, None]
    assert data["decision_summary"]["recommendation"] == "insufficient_data"
    assert data["time_series"] == []


def test_draft_without_goals_has_results_of_nothing(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, goals=[], variants=[])
    whole = customer.get(f"{path}/results").json()["data"]
    assert (whole["variants"], whole["decision_summary"], whole["time_series"]) == ({}, None, [])
    summary = customer.get(f"{path}/results/summary").json()["data"]
    assert (summary["primary_goal"], summary["variants"]) == (None, [])
    assert customer.get(f"{path}/results/timeseries").json()["data"] == []


def test_running_experiment_without_events_has_its_days(customer: Customer, experiment: str) -> None:
    customer.post(f"{experiment}/start")
    (day,) = customer.get(f"{experiment}/results/timeseries").json()["data"]
    assert datetime.fromisoformat(day["date"]).date() - datetime.now(UTC).date() <= timedelta(days=1)
    assert all(set(found.values()) == {0, None} for found in day["variants"].values())


def test_bayesian_experiment_is_judged_on_chance_to_beat(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, analysis_method="bayesian", variants=[CONTROL, TREATMENT])
    head = customer.get(f"{path}/results/summary").json()["data"]["experiment"]
    assert head["score_label"] == "Chance to beat control"


def test_results_say_what_is_compared_where_weights_changed(customer: Customer, project: str) -> None:
    observed = observe(customer, project)
    assert observed.read()["estimand"] is None
    path, (control, treatment) = observed.path, observed.variants
    assert customer.post(f"{path}/pause").status_code == 200
    variants = [{"id": control, "weight": 1}, {"id": treatment, "weight": 3}]
    edited = customer.patch(path, {"variants": variants})
    assert edited.status_code == 200, edited.text
    assert [one["weight"] for one in edited.json()["data"]["variants"]] == [1, 3]
    assert "weight_epochs" not in edited.json()["data"]
    assert customer.post(f"{path}/resume").status_code == 200
    estimand = observed.read()["estimand"]
    assert estimand["compared_percentage"] == 100
    assert [one["weights"] for one in estimand["epochs"]] == [
        {control: 1, treatment: 1},
        {control: 1, treatment: 3},
    ]
    assert [one["visitors"] for one in estimand["epochs"]] == [
        {control: 120, treatment: 120},
        {control: 0, treatment: 0},
    ]
    assert observed.read(device_type="mobile")["estimand"]["epochs"][0]["visitors"] == {
        control: 60,
        treatment: 60,
    }


@pytest.mark.parametrize("view", ["", "/summary", "/timeseries", "/export"])
def test_a_filter_given_twice_is_refused(customer: Customer, experiment: str, view: str) -> None:
    for query in (
        "country=DE&country=DE",
        "device_type=mobile&device_type=tablet",
        "as_of=1&country=a&as_of=2",
    ):
        error = error_of(customer.call("GET", f"{experiment}/results{view}?{query}"), 422, "validation_error")
        repeated = query.partition("=")[0]
        assert error["details"] == [{"field": repeated, "message": "may be given once only"}]
    # An unknown parameter is ignored, however often it comes.
    assert customer.call("GET", f"{experiment}/results{view}?x=1&x=2").status_code == 200
    error_of(customer.call("GET", f"{experiment}x/results{view}?country=a&country=b"), 404, "not_found")


def test_a_filter_of_a_list_given_twice_is_refused(customer: Customer, project: str) -> None:
    for listed in ("experiments?status=draft&status=draft", "runs?kind=import&kind=rollup"):
        error = error_of(customer.call("GET", f"{project}/{listed}"), 422, "validation_error")
        assert fields_of(error) == [listed.partition("?")[2].partition("=")[0]]
