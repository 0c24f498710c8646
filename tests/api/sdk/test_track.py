from dataclasses import replace
from typing import Any

import pytest

from engine.design.assignment import is_in_traffic
from engine.design.experiment import Experiment
from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"
CONVERT = "/api/v1/sdk/convert"
INIT = "/api/v1/sdk/init"


def test_an_acknowledged_event_is_stored(shop: Shop) -> None:
    answer = shop.post(TRACK, {"batch": [shop.exposure("a"), shop.exposure("b")]})
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 2,
        "rejected": 0,
        "results": [
            {"event_id": "a", "status": "ok", "code": None, "message": None},
            {"event_id": "b", "status": "ok", "code": None, "message": None},
        ],
    }
    assert shop.stored() == ["a", "b"]


def test_a_bad_event_is_rejected_and_the_rest_stored(shop: Shop) -> None:
    answer = shop.post(
        TRACK, {"batch": [shop.exposure("a"), shop.exposure("b", visitor_id="undefined")]}
    ).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert answer["results"][1]["code"] == "invalid_visitor_id"
    assert shop.stored() == ["a"]


def test_late_exposures_are_no_visitors_and_show_in_the_health_of_results(shop: Shop) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results"
    shop.post(TRACK, {"batch": [shop.exposure("in time", visitor_id="v0")]})
    for number in range(3):
        data = shop.customer.data_of(path)
        (variants,) = data["variants"].values()
        (late,) = [check["details"] for check in data["health"] if check["check"] == "late_visits"]
        assert sum(variant["visitors"] for variant in variants) == 1
        assert (late["visits"], late["share"]) == (number, number / (number + 1))
        event = shop.exposure(f"late {number}", visitor_id=f"v{number}", late=True)
        (result,) = shop.post(TRACK, {"batch": [event]}).json()["results"]
        assert (result["status"], result["code"]) == ("ok", "not_counted")


def test_conversions_come_alone_or_in_a_batch(shop: Shop) -> None:
    goal = shop.experiment["goals"][0]["id"]
    order = {"event_id": "a", "visitor_id": "v1", "goal_id": goal, "revenue_cents": 1999}
    assert shop.post(CONVERT, order).json()["accepted"] == 1
    assert shop.post(CONVERT, {"batch": [{**order, "event_id": "b"}]}).json()["accepted"] == 1
    assert shop.stored("event_id, type, revenue_cents") == [
        ("a", "conversion", 1999),
        ("b", "conversion", 1999),
    ]


def test_an_experiment_made_a_moment_ago_is_known(shop: Shop) -> None:
    shop.post(TRACK, {"batch": [shop.exposure()]})
    path = shop.customer.an_experiment(f"/projects/{shop.project_id}", name="Another")
    newer = shop.customer.get(path).json()["data"]
    event = shop.exposure("b", experiment_id=newer["id"], variant_id=newer["variants"][0]["id"])
    assert shop.post(TRACK, {"batch": [event]}).json()["accepted"] == 1


def drive(shop: Shop, *triggers: str) -> None:
    for trigger in triggers:
        path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/{trigger}"
        assert shop.customer.post(path).status_code == 200


def of_exposure(shop: Shop, visitor: str, event_id: str | None = None, **fields: Any) -> dict[str, Any]:
    event = shop.exposure(event_id or f"{visitor}-{shop.stored_count()}", visitor_id=visitor, **fields)
    answer = shop.post(TRACK, {"batch": [event]}).json()
    assert answer["accepted"] == 1
    return dict(answer["results"][0])


def counted(shop: Shop) -> int:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results/summary"
    return int(shop.customer.get(path).json()["data"]["primary_goal_summary"]["visitors"])


def test_only_visitors_exposed_before_the_pause_count_during_it(shop: Shop) -> None:
    assert of_exposure(shop, "before")["code"] is None
    drive(shop, "pause")
    assert of_exposure(shop, "before")["code"] is None
    result = of_exposure(shop, "new")
    assert (result["status"], result["code"]) == ("ok", "not_counted")
    assert result["message"] == "the experiment is paused and takes no new visitors"
    # The first exposure, which did not count, is none before the pause.
    assert of_exposure(shop, "new")["code"] == "not_counted"
    assert counted(shop) == 1
    assert shop.stored("not_counted")[-2:] == ["experiment_paused", "experiment_paused"]


def test_the_first_exposure_after_a_resume_or_a_start_counts(shop: Shop) -> None:
    drive(shop, "pause")
    assert of_exposure(shop, "v1", "same")["code"] == "not_counted"
    drive(shop, "resume")
    # The id was of an exposure that did not count.
    assert of_exposure(shop, "v1", "same")["code"] is None
    assert counted(shop) == 1


@pytest.mark.parametrize("status", ["completed", "archived"])
def test_exposures_to_an_ended_experiment_say_so(shop: Shop, status: str) -> None:
    assert of_exposure(shop, "before")["code"] is None
    drive(shop, "complete", *(["archive"] if status == "archived" else []))
    for visitor in ("before", "new"):
        message = of_exposure(shop, visitor)["message"]
        assert message == f"the experiment is {status} and takes no new visitors"


def test_a_draft_counts_from_its_start_on(shop: Shop) -> None:
    path = shop.customer.an_experiment(f"/projects/{shop.project_id}", name="Another")
    draft = shop.customer.get(path).json()["data"]
    fields = {"experiment_id": draft["id"], "variant_id": draft["variants"][0]["id"]}
    assert of_exposure(shop, "v1", **fields)["code"] == "not_counted"
    assert shop.customer.post(f"{path}/start").status_code == 200
    assert of_exposure(shop, "v1", **fields)["code"] is None


def test_a_start_in_another_process_counts_at_once(shop: Shop) -> None:
    catalog = shop.customer.services.catalog
    drive(shop, "pause")
    # The project is in the cache now, and a write of another process leaves it there.
    assert of_exposure(shop, "v1")["code"] == "not_counted"
    version = catalog.database.version

    def resume(experiment: Experiment) -> Experiment:
        return replace(experiment, status="running")

    catalog.experiments.change(shop.project_id, shop.experiment["id"], resume, actor="test")
    catalog.database.version = version
    assert of_exposure(shop, "v1")["code"] is None


def test_a_visitor_outside_the_traffic_does_not_count_unless_assigned_before(shop: Shop) -> None:
    known, new = _outside(shop, 2)
    assert shop.post(INIT, {"visitor_id": known}).json()["assignments"][0]["status"] == "new"
    drive(shop, "pause")
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"
    assert shop.customer.patch(path, {"traffic_allocation": 20}).status_code == 200
    drive(shop, "resume")
    assert of_exposure(shop, known)["code"] is None
    for _ in range(2):
        result = of_exposure(shop, new)
        assert result["code"] == "not_counted"
        assert result["message"] == "the visitor is outside the 20% of traffic that takes part"
    assert counted(shop) == 1


def test_an_unknown_variant_of_a_paused_experiment_is_rejected(shop: Shop) -> None:
    drive(shop, "pause")
    batch = [shop.exposure("a", variant_id="var_none"), shop.exposure("b"), shop.exposure("c", visitor_id="")]
    answer = shop.post(TRACK, {"batch": batch}).json()
    assert [(one["status"], one["code"]) for one in answer["results"]] == [
        ("rejected", "unknown_variant"),
        ("ok", "not_counted"),
        ("rejected", "invalid_visitor_id"),
    ]
    assert (answer["accepted"], answer["rejected"]) == (1, 2)


def _outside(shop: Shop, number: int) -> list[str]:
    """Find visitors outside a fifth of the traffic."""
    experiment = shop.customer.services.catalog.experiments.get(shop.project_id, shop.experiment["id"])
    narrow = replace(experiment, traffic_allocation=20)
    return [f"v{one}" for one in range(200) if not is_in_traffic(narrow, f"v{one}")][:number]
