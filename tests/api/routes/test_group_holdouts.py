"""Holdouts of exclusion groups, at every door through which a visitor gets a variant."""

from typing import Any

from engine.design.assignment import bucket_variant
from engine.design.experiment import Experiment
from tests.api.routes.test_holdouts import GOAL, INIT, TRACK, counted, hold, path, stored_exposures
from tests.api.shops import Shop

VISITORS = [f"v{number}" for number in range(400)]


def a_grouped_test(shop: Shop, name: str) -> tuple[str, dict[str, Any]]:
    """Start a test that takes every visitor of a new group; returns the id of the group and the test."""
    project = f"/projects/{shop.project_id}"
    group_id = shop.customer.a_group(project, name).rpartition("/")[2]
    share = {"id": group_id, "percent": 100}
    # Without changes, so that shipping one changes nothing that another one does.
    variants = [{"name": one, "is_control": one == "Control"} for one in ("Control", "Treatment")]
    address = shop.customer.an_experiment(project, name=name, group=share, variants=variants)
    return group_id, dict(shop.customer.post(f"{address}/start").json()["data"])


def visit(shop: Shop, visitor: str) -> dict[str, Any]:
    answer = shop.post(INIT, {"visitor_id": visitor})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def seen(answer: dict[str, Any]) -> set[str]:
    """Return the ids of the tests and rollouts of which a visitor sees a variant."""
    shown = [*answer["assignments"], *answer["rollouts"]]
    return {one["experiment_id"] for one in shown if one["variant_id"] is not None}


def found(*places: tuple[Experiment, int]) -> str:
    """Find a visitor whose hashes are of these variants: 0 is held out."""
    return next(
        one for one in VISITORS if all(bucket_variant(holdout, one) == index for holdout, index in places)
    )


def test_held_visitors_of_a_group_see_all_but_its_tests_and_rollouts(shop: Shop) -> None:
    (own_group, own), (_, other) = a_grouped_test(shop, "Own"), a_grouped_test(shop, "Other")
    holdout = hold(shop, group_id=own_group)
    held, free, rest = found((holdout, 0)), found((holdout, 1)), {shop.experiment["id"], other["id"]}
    for _ in range(2):
        answer = visit(shop, held)
        assert seen(answer) == rest
        assert seen(visit(shop, free)) == {*rest, own["id"]}
    (place,) = answer["group_holdouts"]
    assert (place["holdout_id"], place["group_id"], place["is_held_out"]) == (holdout.id, own_group, True)
    assert "holdout" not in answer
    (reason,) = (one["reason"] for one in answer["assignments"] if one["experiment_id"] == own["id"])
    assert reason == "the visitor is held out from all tests and rollouts of the group"
    assert sorted(stored_exposures(shop, holdout)) == sorted([held, free])
    assert counted(shop, holdout) == {"Held out": 1, "All others": 1}
    # Events of clients count by the same places.
    batch = [
        shop.exposure(f"e{number}", visitor_id=held, experiment_id=test["id"], variant_id=variant)
        for number, test in enumerate((own, other, shop.experiment))
        for variant in (test["variants"][0]["id"],)
    ]
    results = shop.post(TRACK, {"batch": batch}).json()["results"]
    assert [one["code"] for one in results] == ["not_counted", None, None]
    shipped = shop.customer.ship(f"/projects/{shop.project_id}/experiments/{own['id']}")
    assert shipped.status_code == 200, shipped.text
    assert (seen(visit(shop, held)), seen(visit(shop, free))) == (rest, {*rest, own["id"]})
    late = next(one for one in VISITORS if one != held and bucket_variant(holdout, one) == 0)
    assert seen(visit(shop, late)) == rest
    assert counted(shop, holdout) == {"Held out": 2, "All others": 1}


def test_two_holdouts_at_once_hold_out_and_count_each_by_itself(shop: Shop) -> None:
    group_id, own = a_grouped_test(shop, "Own")
    of_group, of_project = hold(shop, group_id=group_id), hold(shop)
    seen_by = {
        (0, 1): {shop.experiment["id"]},
        (1, 0): set(),
        (0, 0): set(),
        (1, 1): {shop.experiment["id"], own["id"]},
    }
    for (in_group, in_project), tests in seen_by.items():
        visitor = found((of_group, in_group), (of_project, in_project))
        assert seen(visit(shop, visitor)) == tests
    for holdout in (of_group, of_project):
        assert counted(shop, holdout) == {"Held out": 2, "All others": 2}


def test_service_decides_on_what_a_holdout_of_a_group_covers_for_browsers(shop: Shop) -> None:
    group_id, own = a_grouped_test(shop, "Own")
    holdout = hold(shop, group_id=group_id)
    client, address = shop.customer.client, "/api/v1/sdk/config"
    config = client.get(address, headers={"X-SDK-Key": shop.sdk_key}).json()
    by_server = {one["id"]: one["decided_by_server"] for one in config["experiments"]}
    assert by_server == {shop.experiment["id"]: False, own["id"]: True}
    assert "holdout" not in config
    assert "group_holdouts" not in config
    assert client.get(f"/sdk/v1/{shop.sdk_key}.js").text.count('"decided_by_server":true') == 1
    (told,) = shop.customer.get("/sdk/config", project_id=shop.project_id).json()["group_holdouts"]
    assert (told["id"], told["group_id"]) == (holdout.id, group_id)
    assert told["definition"]["held_group_id"] == group_id


def test_group_of_a_holdout_is_told_and_must_be_of_the_project(shop: Shop) -> None:
    group_id, _ = a_grouped_test(shop, "Own")
    holdout = hold(shop, group_id=group_id)
    assert shop.customer.get(f"{path(shop)}/{holdout.id}").json()["data"]["group_id"] == group_id
    (created,) = shop.customer.get("/account/audit", subject_type="holdout", action="created").json()["data"]
    assert created["changes"]["held_group_id"] == [None, group_id]
    body = {"name": "Other", "percent": 5, "goals": [GOAL], "group_id": "grp_unknown"}
    refused = shop.customer.post(path(shop), body).json()["error"]
    assert (refused["code"], refused["details"][0]["field"]) == ("validation_error", "group_id")
    again = shop.customer.post(path(shop), {**body, "group_id": group_id}).json()["error"]
    assert again["code"] == "holdout_active"
