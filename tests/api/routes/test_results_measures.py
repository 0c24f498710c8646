"""Results of goals measured by counts and values, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.stats.frequentist.quantiles import ValueCounts
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


def test_quantiles_of_visitors_and_of_events(customer: Customer, project: str) -> None:
    config = {"event_name": "load", "measure": "quantile", "direction": "decrease"}
    goals = [
        {"name": "Median", "goal_type": "custom_event", "is_primary": True, "config": config},
        {"name": "Slowest", "goal_type": "custom_event", "config": {**config, "q": 0.9, "of": "event"}},
    ]
    path = customer.an_experiment(project, goals=goals)
    started = customer.post(f"{path}/start").json()["data"]
    arms = [variant["id"] for variant in started["variants"]]
    median, slowest = (goal["id"] for goal in started["goals"])
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2]}
    loads = [[(2 + who % 2) * (who // 2 + 1), 500][: 1 + (who % 3 == 0)] for who in range(150)]
    batch = [event(10 * who, f"q{who}", **shown, variant_id=arms[who % 2]) for who in range(160)]
    batch += (
        event(10 * who + 1 + place, f"q{who}", type="custom_event", event_name="load", value=value)
        for who, values in enumerate(loads)
        for place, value in enumerate(values)
    )
    # The last ten have no value.
    batch += (
        event(10 * who + 1, f"q{who}", type="custom_event", event_name="load") for who in range(150, 160)
    )
    body = {"project_id": project.rpartition("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    data = customer.get(f"{path}/results").json()["data"]
    sums = ValueCounts.of([sum(values) for values in loads[1::2]])
    for goal, mean in ((median, float(sums.quantiles(0.5))), (slowest, 500.0)):
        control, treatment = data["variants"][goal]
        assert (control["visitors"], control["observed_visitors"]) == (80, 75)
        assert treatment["mean"] == pytest.approx(mean, rel=0.01)
        assert (treatment["conversions"], treatment["conversion_rate"]) == (80, 100.0)
        assert treatment["improvement_interval"] is not None
        low, high = (treatment["rate_interval"][end] for end in ("low", "high"))
        # Answers have four decimals.
        assert low - 1e-4 <= treatment["mean"] <= high + 1e-4
    segments = customer.get(f"{path}/results/segments", dimension="day_of_week").json()["data"]["goals"]
    (today,) = segments[0]["segments"]
    assert today["variants"][0]["mean"] == data["variants"][median][1]["mean"]


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def test_events_count_within_the_window_of_a_goal(customer: Customer, project: str) -> None:
    windows: list[dict[str, Any]] = [
        {"name": "Views", "goal_type": "custom_event", "config": {"event_name": "view", **config}}
        for config in ({"window": 2}, {"measure": "count", "window": 3}, {"measure": "value"})
    ]
    path = customer.an_experiment(project, goals=windows)
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2]}
    viewed = {"type": "custom_event", "event_name": "view", "value": 1.5}
    batch = [
        event(1, "a", **shown, variant_id=control, timestamp=ago(9)),
        event(2, "b", **shown, variant_id=treatment, timestamp=ago(9)),
        event(3, "a", **viewed, timestamp=ago(6.5)),
        *(event(number, "b", **viewed, timestamp=ago(days)) for number, days in ((4, 8), (5, 6.5), (6, 1))),
    ]
    body = {"project_id": project.rpartition("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0

    variants = customer.get(f"{path}/results").json()["data"]["variants"]
    converted, counted, summed = (variants[goal["id"]] for goal in started["goals"])
    assert [one["conversions"] for one in converted] == [0, 1]
    assert [one["mean"] for one in counted] == [1.0, 2.0]
    assert [one["mean"] for one in summed] == [1.5, 4.5]

    customer.post(f"{path}/pause")
    goals = [{"id": goal["id"]} for goal in started["goals"]]
    goals[1]["config"] = {**windows[1]["config"], "window": 9}
    refused = customer.patch(path, {"goals": goals})
    assert fields_of(error_of(refused, 422, "field_locked")) == ["goals[1].config.window"]
    paused = customer.get(f"{path}/results").json()["data"]["variants"]
    assert [one["mean"] for one in paused[started["goals"][1]["id"]]] == [1.0, 2.0]


def test_a_funnel_counts_visitors_who_did_its_steps_in_order(customer: Customer, project: str) -> None:
    config = {"event_name": "buy", "measure": "funnel"}
    goal: dict[str, Any] = {"name": "Funnel", "goal_type": "custom_event", "config": config}
    refused = customer.post(f"{project}/experiments", {"name": "Funnel", "goals": [goal]})
    assert fields_of(error_of(refused, 422, "validation_error")) == ["goals[0].config.steps"]

    goal["config"] = {**config, "steps": [{"goal_type": "pageview", "url": "https://a.example/"}]}
    path = customer.an_experiment(project, goals=[goal])
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    funnel = started["goals"][0]["id"]
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2], "attributes": {"country": "US"}}
    steps = ({"type": "custom_event", "event_name": "buy"}, {"type": "pageview", "url": "https://a.example/"})
    arms = {"a": control, "b": treatment, "c": treatment}
    exposures = [
        event(number, who, **shown, variant_id=arm, timestamp=ago(3))
        for number, (who, arm) in enumerate(arms.items())
    ]
    # The first buys before the page, the second after it, the third without it; the last steps come first.
    did = [("a", 0, 2), ("b", 0, 1), ("c", 0, 1), ("a", 1, 1), ("b", 1, 2)]
    done = [event(9 + n, who, **steps[step], timestamp=ago(at)) for n, (who, step, at) in enumerate(did)]
    body = {"project_id": project.rpartition("/")[2], "batch": [*exposures, *done]}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    for filters in ({}, {"country": "US"}):
        variants = customer.get(f"{path}/results", **filters).json()["data"]["variants"][funnel]
        assert [(one["conversions"], one["mean"]) for one in variants] == [(0, 0.0), (1, 50.0)]
        assert [one["steps"] for one in variants] == [
            [{"name": "https://a.example/", "visitors": page}, {"name": "buy", "visitors": bought}]
            for page, bought in ((1, 0), (1, 1))
        ]
    page = customer.get(f"{path}/results/export", format="csv").text.splitlines()
    place = page[0].split(",").index(f"{funnel}_steps")
    assert sorted(row.split(",")[place] for row in page[1:]) == ["0", "1", "2"]

    customer.post(f"{path}/pause")
    changed = {"id": funnel, "config": {**config, "steps": [{"event_name": "cart"}]}}
    refused = customer.patch(path, {"goals": [changed]})
    assert fields_of(error_of(refused, 422, "field_locked")) == ["goals[0].config.steps"]


def test_a_ratio_of_two_events(customer: Customer, project: str) -> None:
    config = {"event_name": "buy", "measure": "ratio", "numerator": "value"}
    goal: dict[str, Any] = {"name": "Order value", "goal_type": "custom_event", "config": config}
    refused = customer.post(f"{project}/experiments", {"name": "Ratio", "goals": [goal]})
    assert fields_of(error_of(refused, 422, "validation_error")) == ["goals[0].config.denominator"]

    other = {"name": "Other", "goal_type": "custom_event", "config": {"event_name": "other"}}
    goal["config"] = {**config, "denominator": {"event_name": "buy"}}
    path = customer.an_experiment(project, goals=[other, goal])
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    ratio = started["goals"][1]["id"]
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2]}
    bought = {"type": "custom_event", "event_name": "buy"}
    batch = [
        event(1, "a", **shown, variant_id=control, attributes={"country": "US"}),
        *(
            event(number, who, **shown, variant_id=treatment, attributes={"country": "US"})
            for number, who in enumerate("bc", 2)
        ),
        *(event(number, "b", **bought, value=value) for number, value in ((4, 10.5), (5, 20.5))),
        event(6, "c", **bought, value=5),
    ]
    body = {"project_id": project.rpartition("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0

    data = customer.get(f"{path}/results", country="US").json()["data"]
    bare, full = data["variants"][ratio]
    assert (bare["mean"], bare["conversions"]) == (None, 0)
    assert (full["mean"], full["conversions"]) == (12.0, 2)
    days = customer.get(f"{path}/results/timeseries", goal_id=ratio).json()["data"]
    found = [day["variants"][treatment] for day in days]
    assert sum(day["amount"] for day in found) == 36.0
    assert sum(day["denominator"] for day in found) == 3.0
    goals = customer.get(f"{path}/results/segments", dimension="country").json()["data"]["goals"]
    (us,) = goals[1]["segments"]
    assert (us["control"]["mean"], us["variants"][0]["mean"]) == (None, 12.0)
    visitors = customer.get(f"{path}/results/export", format="csv").text.splitlines()
    assert {f"{ratio}_amount", f"{ratio}_denominator"} <= set(visitors[0].split(","))

    customer.post(f"{path}/pause")
    sent = [{"id": one["id"]} for one in started["goals"]]
    sent[1]["config"] = {**goal["config"], "denominator": {"event_name": "other"}}
    refused = customer.patch(path, {"goals": sent})
    assert fields_of(error_of(refused, 422, "field_locked")) == ["goals[1].config.denominator"]


def test_visitors_who_came_back_of_those_whose_days_are_over(customer: Customer, project: str) -> None:
    config = {"event_name": "open", "measure": "retained"}
    goal: dict[str, Any] = {"name": "Back", "goal_type": "custom_event", "config": config}
    refused = customer.post(f"{project}/experiments", {"name": "Back", "goals": [goal]})
    assert fields_of(error_of(refused, 422, "validation_error")) == ["goals[0].config.from_day"]

    goal["config"] = {**config, "from_day": 2, "to_day": 3}
    path = customer.an_experiment(project, goals=[goal])
    started = customer.post(f"{path}/start").json()["data"]
    control, treatment = (variant["id"] for variant in started["variants"])
    back = started["goals"][0]["id"]
    shown = {"type": "exposure", "experiment_id": path.rpartition("/")[2], "attributes": {"country": "US"}}
    opened = {"type": "custom_event", "event_name": "open"}
    batch = [
        event(1, "a", **shown, variant_id=control, timestamp=ago(9)),
        *(
            event(number, who, **shown, variant_id=treatment, timestamp=ago(9))
            for number, who in ((2, "b"), (3, "c"))
        ),
        # Too early, too late, and in time; the last visitor's days are not over.
        event(4, "a", **opened, timestamp=ago(8)),
        event(5, "b", **opened, timestamp=ago(4.5)),
        event(6, "c", **opened, timestamp=ago(6.5)),
        event(7, "d", **shown, variant_id=treatment, timestamp=ago(3)),
        event(8, "d", **opened, timestamp=ago(0.5)),
    ]
    body = {"project_id": project.rpartition("/")[2], "batch": batch}
    assert customer.post("/sdk/track", body).json()["rejected"] == 0
    for filters in ({}, {"country": "US"}):
        of_control, of_treatment = customer.get(f"{path}/results", **filters).json()["data"]["variants"][back]
        assert (of_control["mean"], of_control["observed_visitors"]) == (0.0, 1)
        assert (of_treatment["mean"], of_treatment["observed_visitors"]) == (50.0, 2)
        assert (of_treatment["conversions"], of_treatment["visitors"]) == (1, 3)
    (segments,) = customer.get(f"{path}/results/segments", dimension="country").json()["data"]["goals"]
    assert segments["segments"][0]["variants"][0]["mean"] == 50.0
    exported = customer.get(f"{path}/results/export", format="csv").text.splitlines()
    place = exported[0].split(",").index(f"{back}_observed")
    assert sorted(row.split(",")[place] for row in exported[1:]) == ["false", "true", "true", "true"]
