"""Every segment of an experiment, over HTTP."""

from itertools import count
from typing import Any

import pytest
from fastapi.testclient import TestClient

from pipeline.store.catalog.ids import new_id
from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import PURCHASE, error_of, fields_of
from tests.api.routes.test_results import REVENUE

SEGMENTS = {
    "experiment",
    "exploratory",
    "false_discovery_rate",
    "comparisons",
    "goals",
    "sample_ratios",
    "sample_ratio_alarms",
    "left_out",
    "as_of",
}
ARM = {
    "variant_id",
    "variant_name",
    "visitors",
    "conversions",
    "conversion_rate",
    "revenue_cents",
    "revenue_per_visitor_cents",
    "mean",
}
VARIANT = ARM | {
    "improvement",
    "rest_improvement",
    "shrunk_improvement",
    "shrunk_interval",
    "chance_to_beat",
    "adjusted_p_value",
    "adjusted_p_value_vs_rest",
    "differs_from_rest",
    "status",
    "reason",
}


@pytest.fixture(scope="module")
def customer(client: TestClient) -> Customer:
    return a_customer_of(client)


@pytest.fixture(scope="module")
def observed(customer: Customer) -> str:
    """400 visitors; on mobile the variant triples what 20 in 100 buy, on desktop it halves it."""
    project = customer.a_project()
    path = customer.an_experiment(project, goals=[PURCHASE, REVENUE])
    started = customer.post(f"{path}/start").json()["data"]
    project_id, experiment_id = project.rpartition("/")[2], path.rpartition("/")[2]
    number = count()
    buyers = {(0, "mobile"): 20, (1, "mobile"): 60, (0, "desktop"): 20, (1, "desktop"): 5}
    exposures, conversions = [], []
    for (place, device), bought in buyers.items():
        for visitor in range(100):
            variant = started["variants"][place]["id"]
            visitor_id = f"{device}-{place}-{visitor}"
            exposures.append(
                {
                    "event_id": f"e{next(number)}",
                    "type": "exposure",
                    "visitor_id": visitor_id,
                    "experiment_id": experiment_id,
                    "variant_id": variant,
                    "attributes": {"device_type": device, "plan": "pro" if visitor % 2 else "free"},
                }
            )
            if visitor < bought:
                conversions.append(
                    {
                        "event_id": f"e{next(number)}",
                        "visitor_id": visitor_id,
                        "goal_id": started["goals"][0]["id"],
                    }
                )
    for operation, batch in (("track", exposures), ("convert", conversions)):
        answer = customer.post(f"/sdk/{operation}", {"project_id": project_id, "batch": batch})
        assert answer.json()["rejected"] == 0, answer.text
    return path


def read(customer: Customer, path: str, **query: Any) -> Any:
    answer = customer.get(f"{path}/results/segments", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_answer_has_every_key_and_every_segment(customer: Customer, observed: str) -> None:
    data = read(customer, observed)
    assert set(data) == SEGMENTS
    assert (data["exploratory"], data["false_discovery_rate"], data["left_out"]) == (True, 5.0, [])
    purchase, revenue = data["goals"]
    assert (purchase["goal_name"], purchase["is_primary"], revenue["goal_type"]) == (
        PURCHASE["name"],
        True,
        "revenue",
    )
    for goal in (purchase, revenue):
        found = [(one["dimension"], one["value"]) for one in goal["segments"]]
        assert found == sorted(found)
        assert {("device_type", "mobile"), ("device_type", "desktop"), ("custom:plan", "pro")} <= set(found)
        for segment in goal["segments"]:
            assert set(segment["control"]) == ARM
            assert [set(variant) for variant in segment["variants"]] == [VARIANT]
    assert data["sample_ratio_alarms"] == []
    assert {one["p_value"] for one in data["sample_ratios"] if one["dimension"] == "device_type"} == {1.0}


def test_counts_are_percents_and_the_difference_is_called(customer: Customer, observed: str) -> None:
    data = read(customer, observed, dimension="device_type")
    desktop, mobile = data["goals"][0]["segments"]
    (variant,) = mobile["variants"]
    assert (variant["visitors"], variant["conversions"], variant["conversion_rate"]) == (100, 60, 60.0)
    assert (variant["improvement"], variant["rest_improvement"]) == (200.0, -75.0)
    assert (variant["status"], variant["differs_from_rest"], variant["reason"]) == ("better", True, None)
    assert (
        variant["shrunk_interval"]["low"] < variant["shrunk_improvement"] < variant["shrunk_interval"]["high"]
    )
    assert variant["shrunk_interval"]["level"] == 95.0
    assert variant["chance_to_beat"] > 99.9
    assert desktop["variants"][0]["status"] == "worse"
    assert data["goals"][0]["summary"].startswith("The effect on ")
    nobody_paid = data["goals"][1]["segments"][0]["variants"][0]
    assert nobody_paid["status"] == "insufficient_data"
    assert nobody_paid["adjusted_p_value"] is None
    assert nobody_paid["reason"] is not None


def test_narrowed_answer_is_a_part_of_the_whole(customer: Customer, observed: str) -> None:
    whole = read(customer, observed)
    purchase = whole["goals"][0]
    part = read(customer, observed, goal_id=purchase["goal_id"], dimension="custom:plan", colour="red")
    (goal,) = part["goals"]
    own = [one for one in purchase["segments"] if one["dimension"] == "custom:plan"]
    assert goal == {**purchase, "segments": own}
    assert [one["value"] for one in part["sample_ratios"]] == ["free", "pro"]
    assert part["comparisons"] == whole["comparisons"]


def test_health_of_the_results_looks_at_every_segment(customer: Customer, observed: str) -> None:
    health = customer.data_of(f"{observed}/results")["health"]
    (check,) = [one for one in health if one["check"] == "sample_ratio_by_segment"]
    assert check["status"] == "ok"
    filtered = customer.get(f"{observed}/results", device_type="mobile").json()["data"]["health"]
    (check,) = [one for one in filtered if one["check"] == "sample_ratio_by_segment"]
    assert check["status"] == "not_applicable"


def test_draft_and_an_experiment_without_events_have_no_segments(customer: Customer, experiment: str) -> None:
    for _ in range(2):
        data = read(customer, experiment)
        assert [goal["segments"] for goal in data["goals"]] == [[]]
        assert (data["sample_ratios"], data["comparisons"]) == ([], 0)
        assert data["goals"][0]["summary"] == "There are no segments yet."
        customer.post(f"{experiment}/start")


def test_draft_without_goals_or_variants_has_nothing(customer: Customer, project: str) -> None:
    data = read(customer, customer.an_experiment(project, goals=[], variants=[]))
    assert (data["goals"], data["sample_ratios"]) == ([], [])


def test_unknown_goal_is_not_found(customer: Customer, experiment: str) -> None:
    answer = customer.get(f"{experiment}/results/segments", goal_id="goal_other", dimension="colour")
    error_of(answer, 404, "not_found")


@pytest.mark.parametrize("dimension", ["colour", "", "custom:", "DEVICE_TYPE"])
def test_unknown_dimension_is_invalid(customer: Customer, experiment: str, dimension: str) -> None:
    answer = customer.get(f"{experiment}/results/segments", dimension=dimension)
    assert fields_of(error_of(answer, 422, "validation_error")) == ["dimension"]


def test_dimension_nobody_has_is_empty(customer: Customer, observed: str) -> None:
    for dimension in ("region", "custom:colour"):
        data = read(customer, observed, dimension=dimension)
        assert [goal["segments"] for goal in data["goals"]] == [[], []]


def test_another_tenants_experiment_does_not_exist(
    customer: Customer, stranger: Customer, observed: str
) -> None:
    path = f"{observed}/results/segments"
    theirs = error_of(stranger.get(path), 404, "not_found")["message"]
    project, experiment = observed.split("/")[2], observed.split("/")[4]
    nobodys_project = new_id("prj")
    nobodys = error_of(stranger.get(path.replace(project, nobodys_project)), 404, "not_found")["message"]
    assert theirs.replace(project, "…") == nobodys.replace(nobodys_project, "…")
    own = stranger.a_project()
    within = f"{own}/experiments/{experiment}/results/segments"
    error_of(stranger.get(within), 404, "not_found")


@pytest.mark.parametrize("asked", [{"goal_id": "g" * 30_000}, {"dimension": "d" * 30_000}])
def test_a_refusal_repeats_no_more_than_a_few_characters(
    customer: Customer, observed: str, asked: dict[str, str]
) -> None:
    answer = customer.get(f"{observed}/results/segments", **asked)
    assert answer.status_code in {404, 422}
    assert len(answer.content) < 1_000


def test_bandits_have_segments_and_no_sample_ratios(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, traffic_strategy="bandit")
    assert read(customer, path)["sample_ratios"] == []
