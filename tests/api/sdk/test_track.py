from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"
CONVERT = "/api/v1/sdk/convert"


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
