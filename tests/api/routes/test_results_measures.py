"""Results of goals measured by counts and values, over HTTP."""

from typing import Any

from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

VIEWS = {"name": "Views", "goal_type": "custom_event", "is_primary": True}
COUNTED = {**VIEWS, "config": {"event_name": "view", "measure": "count"}}
SUMMED = {"name": "Time", "goal_type": "custom_event", "config": {"event_name": "view", "measure": "value"}}


def event(number: int, visitor: str, **fields: Any) -> dict[str, Any]:
    return {"event_id": f"e{number}", "visitor_id": visitor, **fields}


def test_mean_amounts_and_segments_of_a_measure(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, goals=[COUNTED, SUMMED])
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    views, time = (goal["id"] for goal in started["goals"])
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2]}
    batch = [
        event(1, "a", **shown, variant_id=control, attributes={"country": "US"}),
        event(2, "b", **shown, variant_id=treatment, attributes={"country": "US"}),
        *(event(n, "b", type="custom_event", event_name="view", value=1.25) for n in range(3, 6)),
    ]
    body = {"project_id": project.rpartition("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    data = customer.get(f"{path}/results").json()["data"]
    counted, summed = (data["variants"][goal][1] for goal in (views, time))
    assert (counted["mean"], counted["conversions"], counted["conversion_rate"]) == (3.0, 1, 100.0)
    assert (summed["mean"], summed["revenue_cents"]) == (3.75, 0)
    assert sum(day["variants"][treatment]["amount"] for day in data["time_series"]) == 3.0
    segments = customer.get(f"{path}/results/segments", dimension="country").json()["data"]["goals"]
    (us,) = segments[0]["segments"]
    assert (us["control"]["mean"], us["variants"][0]["mean"]) == (0.0, 3.0)


def test_what_is_not_measured_yet_is_refused(customer: Customer, project: str) -> None:
    ratio = {**VIEWS, "config": {"event_name": "view", "measure": "ratio"}}
    refused = customer.post(f"{project}/experiments", {"name": "Ratio", "goals": [ratio]})
    assert fields_of(error_of(refused, 422, "validation_error")) == ["goals[0].config.measure"]
