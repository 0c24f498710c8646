"""Holdouts over REST, and at every door through which a visitor gets a variant."""

from typing import Any

import pytest

from engine.design.assignment import bucket_variant
from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from tests.api.shops import Shop

GOAL = {"name": "Purchase", "goal_type": "custom_event", "config": {"event_name": "purchase"}}
INIT, TRACK = "/api/v1/sdk/init", "/api/v1/sdk/track"


def path(shop: Shop) -> str:
    return f"/projects/{shop.project_id}/holdouts"


def hold(shop: Shop, **fields: Any) -> Experiment:
    """Make a holdout of 10% that is in force, and return its record."""
    body = {"name": "Spring", "percent": 10, "goals": [GOAL], **fields}
    made = shop.customer.post(path(shop), body)
    assert made.status_code == 201, made.text
    return shop.customer.services.catalog.holdouts.get(shop.project_id, made.json()["data"]["id"])


def visitors(holdout: Experiment, index: int, prefix: str = "v") -> list[str]:
    """List visitors whose hashes are of a variant: 0 is held out."""
    ids = [f"{prefix}{number}" for number in range(200)]
    return [one for one in ids if bucket_variant(holdout, one) == index]


def assignment(shop: Shop, visitor: str, **visit: Any) -> dict[str, Any]:
    answer = shop.post(INIT, {"visitor_id": visitor, **visit})
    assert answer.status_code == 200, answer.text
    (own,) = answer.json()["assignments"]
    return dict(own)


def counted(shop: Shop, holdout: Experiment) -> dict[str, int]:
    answer = shop.customer.get(f"{path(shop)}/{holdout.id}/results")
    assert answer.status_code == 200, answer.text
    (rows,) = answer.json()["data"]["variants"].values()
    return {row["variant_name"]: row["visitors"] for row in rows}


def stored_exposures(shop: Shop, holdout: Experiment) -> list[str]:
    rows = shop.stored("type, experiment_id, visitor_id, not_counted")
    return [row[2] for row in rows if row[:2] == ("exposure", holdout.id) and row[3] is None]


def test_held_visitors_get_nothing_and_both_arms_one_exposure(shop: Shop) -> None:
    holdout = hold(shop)
    held, others = visitors(holdout, 0)[:3], visitors(holdout, 1)[:5]
    for visitor in [*held, *others] * 2:
        own = assignment(shop, visitor)
        assert (own["variant_id"] is None) == (visitor in held)
        if visitor in held:
            assert (own["status"], own["reason"]) == (
                "excluded",
                "the visitor is held out from all tests and rollouts",
            )
    assert sorted(stored_exposures(shop, holdout)) == sorted([*held, *others])
    assert counted(shop, holdout) == {"Held out": 3, "All others": 5}


def test_a_visitor_for_whom_there_is_no_test_is_in_neither_arm(shop: Shop) -> None:
    holdout = hold(shop)
    elsewhere = {"url": "https://elsewhere.example/"}
    for visitor in visitors(holdout, 0)[:2] + visitors(holdout, 1)[:2]:
        assert assignment(shop, visitor, **elsewhere)["variant_id"] is None
    assert counted(shop, holdout) == {"Held out": 0, "All others": 0}


def test_who_was_seen_before_is_in_neither_arm_and_sees_the_tests(shop: Shop) -> None:
    # Hashes are known once there is a holdout: many are seen before, some of which it would hold.
    seen = [f"v{number}" for number in range(60)]
    events = [
        {"event_id": f"p-{one}", "type": "pageview", "visitor_id": one, "url": "https://shop.example/"}
        for one in seen
    ]
    assert shop.post(TRACK, {"batch": events}).json()["accepted"] == len(seen)
    holdout = hold(shop)
    would_be_held = [one for one in visitors(holdout, 0) if one in seen]
    assert would_be_held
    for visitor in would_be_held:
        assert assignment(shop, visitor)["status"] == "new"
    new = visitors(holdout, 0, "new")[0]
    assert assignment(shop, new)["variant_id"] is None
    # One who has signed in as the user of a visitor from before follows that one.
    joined = visitors(holdout, 0, "joined")[0]
    identify = {"event_id": "i1", "type": "identify", "visitor_id": would_be_held[0], "user_id": "u1"}
    assert shop.post(TRACK, {"batch": [identify]}).json()["accepted"] == 1
    assert assignment(shop, joined, user_id="u1")["variant_id"] is not None
    assert stored_exposures(shop, holdout) == [new]


def test_a_joined_visitor_from_before_takes_its_user_out_of_the_results(shop: Shop) -> None:
    before = {"event_id": "p1", "type": "pageview", "visitor_id": "old", "url": "https://shop.example/"}
    shop.post(TRACK, {"batch": [before]})
    holdout = hold(shop)
    new = visitors(holdout, 0, "new")[0]
    assignment(shop, new)
    assert counted(shop, holdout) == {"Held out": 1, "All others": 0}
    joins = [
        {"event_id": f"i-{one}", "type": "identify", "visitor_id": one, "user_id": "u1"}
        for one in ("old", new)
    ]
    assert shop.post(TRACK, {"batch": joins}).json()["accepted"] == 2
    assert counted(shop, holdout) == {"Held out": 0, "All others": 0}


def test_events_of_clients_count_by_the_place_that_the_service_knows(shop: Shop) -> None:
    holdout = hold(shop)
    (held_id, others_id), held, other = (
        [one.id for one in holdout.variants],
        visitors(holdout, 0)[0],
        visitors(holdout, 1)[0],
    )

    def of_holdout(visitor: str, variant_id: str) -> dict[str, Any]:
        own = {"visitor_id": visitor, "experiment_id": holdout.id, "variant_id": variant_id}
        return shop.exposure(f"{visitor}-{variant_id}", **own)

    batch = [
        shop.exposure("e1", visitor_id=held),
        shop.exposure("e2", visitor_id=other),
        of_holdout(held, others_id),
        of_holdout(other, others_id),
        of_holdout(held, held_id),
    ]
    results = shop.post(TRACK, {"batch": batch}).json()["results"]
    assert [one["code"] for one in results] == ["not_counted", None, "not_counted", None, None]
    assert [one["message"] for one in results if one["code"]] == [
        "the visitor is held out from all tests and rollouts",
        "the visitor is in the other variant of the holdout",
    ]
    assert counted(shop, holdout) == {"Held out": 1, "All others": 1}


def test_browsers_get_what_asks_for_the_place_and_other_clients_ask_for_variants(shop: Shop) -> None:
    client, key = shop.customer.client, {"X-SDK-Key": shop.sdk_key}

    def config() -> dict[str, Any]:
        found: dict[str, Any] = client.get("/api/v1/sdk/config", headers=key).json()
        return found

    def snippet() -> str:
        return client.get(f"/sdk/v1/{shop.sdk_key}.js").text

    assert "holdout" not in config()
    assert "holdout" not in snippet()
    holdout = hold(shop)
    assert config()["holdout"]["id"] == holdout.id
    assert [one["decided_by_server"] for one in config()["experiments"]] == [True]
    assert f'"holdout":{{"id":"{holdout.id}"' in snippet()
    assert '"decided_by_server":true' not in snippet()
    assert "is_held_out" in snippet()


def test_the_end_lets_held_visitors_in_and_keeps_the_results(shop: Shop) -> None:
    holdout = hold(shop)
    held = visitors(holdout, 0)[0]
    assignment(shop, held)
    address = f"{path(shop)}/{holdout.id}"
    refused = shop.customer.call("DELETE", address)
    assert refused.json()["error"]["code"] == "invalid_transition"
    ended = shop.customer.patch(address, {"to": utc_now().isoformat()})
    assert ended.json()["data"]["status"] == "completed"
    assert assignment(shop, held)["status"] == "new"
    assert counted(shop, holdout) == {"Held out": 1, "All others": 0}
    assert shop.customer.call("DELETE", address).status_code == 204
    query = {"subject_type": "holdout", "project_id": shop.project_id}
    entries = shop.customer.get("/account/audit", **query).json()["data"]
    assert [(one["subject_id"], one["action"]) for one in entries] == [
        (holdout.id, "deleted"),
        (holdout.id, "changed"),
        (holdout.id, "created"),
    ]
    assert entries[1]["changes"]["status"] == ["running", "completed"]
    assert shop.customer.get(address).status_code == 404


def test_a_project_has_one_holdout_which_no_list_of_tests_has(shop: Shop) -> None:
    holdout = hold(shop)
    body = {"name": "Summer", "percent": 5, "goals": [GOAL]}
    assert shop.customer.post(path(shop), body).json()["error"]["code"] == "holdout_active"
    (listed,) = shop.customer.get(path(shop)).json()["data"]
    assert (listed["id"], listed["percent"], listed["status"]) == (holdout.id, 10, "running")
    assert listed["from"] is not None
    tests = shop.customer.get(f"/projects/{shop.project_id}/experiments").json()["data"]
    assert [one["id"] for one in tests] == [shop.experiment["id"]]
    for answer in ("", "/results", "/share_links"):
        found = shop.customer.get(f"/projects/{shop.project_id}/experiments/{holdout.id}{answer}")
        assert found.status_code == 404, answer


@pytest.mark.parametrize("fields", [{"percent": 11}, {"goals": []}, {"from": "2026-01-01T00:00:00Z"}])
def test_a_wrong_holdout_is_refused(shop: Shop, fields: dict[str, Any]) -> None:
    body = {"name": "Spring", "percent": 10, "goals": [GOAL], **fields}
    refused = shop.customer.post(path(shop), body).json()["error"]
    assert (refused["code"], refused["details"][0]["field"]) == ("validation_error", next(iter(fields)))
