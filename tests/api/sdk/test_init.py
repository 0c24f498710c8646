from typing import Any

import pytest

from engine.design.assignment import assign
from pipeline.store.warehouse.identities import MAX_VISITORS_OF_USER
from tests.api.shops import Shop

INIT = "/api/v1/sdk/init"
TRACK = "/api/v1/sdk/track"


def shown(shop: Shop, **visit: Any) -> dict[str, Any]:
    """Return the assignment of the shop's own experiment."""
    answer = shop.post(INIT, {"visitor_id": "v1", **visit})
    assert answer.status_code == 200, answer.text
    (own,) = [one for one in answer.json()["assignments"] if one["experiment_id"] == shop.experiment["id"]]
    return dict(own)


def drive(shop: Shop, trigger: str) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/{trigger}"
    assert shop.customer.post(path).status_code == 200


def revise(shop: Shop, **fields: Any) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"
    answer = shop.customer.patch(path, fields)
    assert answer.status_code == 200, answer.text


def variant(shop: Shop, index: int) -> dict[str, Any]:
    return dict(shop.experiment["variants"][index])


def test_a_visitor_gets_the_variant_of_the_hash_with_its_changes(shop: Shop) -> None:
    experiment = shop.customer.services.catalog.experiments.get(shop.project_id, shop.experiment["id"])
    for number in range(20):
        own = shown(shop, visitor_id=f"v{number}")
        expected = assign(experiment, f"v{number}").variant
        assert expected is not None
        assert (own["variant_id"], own["variant_name"]) == (expected.id, expected.name)
        assert [change["value"] for change in own["changes"]] == [change.value for change in expected.changes]
        assert own["test_key"] == "checkout-button"


def test_a_visitor_without_an_id_gets_one(shop: Shop) -> None:
    first, second = (shop.post(INIT, {}).json()["visitor_id"] for _ in range(2))
    assert first != second
    assert shown(shop, visitor_id=first)["status"] == "existing"


def test_the_second_visit_is_an_existing_assignment(shop: Shop) -> None:
    first, second = shown(shop), shown(shop)
    assert (first["status"], second["status"]) == ("new", "existing")
    assert first["variant_id"] == second["variant_id"]


def test_init_counts_nobody(shop: Shop) -> None:
    shown(shop)
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results/summary"
    results = shop.customer.get(path).json()["data"]
    assert sum(one["visitors"] for one in results["variants"]) == 0
    assert shop.stored("type") == ["assignment"]


def test_the_goals_are_listed(shop: Shop) -> None:
    (goal,) = shop.post(INIT, {}).json()["goals"]
    assert goal["id"] == shop.experiment["goals"][0]["id"]
    assert goal["config"] == {"event_name": "purchase"}
    assert goal["experiment_id"] == shop.experiment["id"]


def test_the_first_assignment_stays_whatever_changed_since(shop: Shop) -> None:
    before = {f"v{number}": shown(shop, visitor_id=f"v{number}")["variant_id"] for number in range(20)}
    drive(shop, "pause")
    changed = [
        {**one, "weight": weight} for one, weight in zip(shop.experiment["variants"], (0, 1), strict=True)
    ]
    revise(shop, variants=changed, traffic_allocation=0)
    drive(shop, "resume")
    after = {visitor_id: shown(shop, visitor_id=visitor_id)["variant_id"] for visitor_id in before}
    assert after == before
    assert shown(shop, visitor_id="newcomer")["status"] == "excluded"


def test_a_payload_goes_with_the_variant_that_stays(shop: Shop) -> None:
    assert [shown(shop, visitor_id=visitor)["payload"] for visitor in ("v1", "v2")] == [None, None]
    drive(shop, "pause")
    first = shown(shop)["variant_id"]
    for price in (9, 9.5):
        variants = [{"id": one["id"], "payload": [one["name"], price]} for one in shop.experiment["variants"]]
        revise(shop, public_variants=True, variants=variants)
        own = shown(shop)
        assert (own["variant_id"], own["payload"]) == (first, [own["variant_name"], price])
    excluded = shown(shop, visitor_id="new")
    assert (excluded["variant_id"], excluded["payload"]) == (None, None)


def test_an_exposure_is_an_assignment(shop: Shop) -> None:
    newcomer = shown(shop, visitor_id="other")["variant_id"]
    other = next(one["id"] for one in shop.experiment["variants"] if one["id"] != newcomer)
    # Of two visitors with the same hash the one that saw the other variant keeps it.
    for number in range(10):
        visitor_id = f"seen-{number}"
        event = shop.exposure(f"e{number}", visitor_id=visitor_id, variant_id=other)
        assert shop.post(TRACK, {"batch": [event]}).json()["accepted"] == 1
        own = shown(shop, visitor_id=visitor_id)
        assert (own["status"], own["variant_id"]) == ("existing", other)


def test_a_paused_experiment_assigns_nobody_new_and_keeps_the_others(shop: Shop) -> None:
    before = shown(shop)
    drive(shop, "pause")
    assert shown(shop) == {**before, "status": "existing", "reason": shown(shop)["reason"]}
    newcomer = shown(shop, visitor_id="newcomer")
    assert (newcomer["status"], newcomer["variant_id"], newcomer["changes"]) == ("excluded", None, [])
    assert "paused" in newcomer["reason"]


def test_a_draft_and_a_completed_experiment_are_not_shown(shop: Shop) -> None:
    shop.customer.an_experiment(f"/projects/{shop.project_id}", name="A draft")
    shown(shop)
    drive(shop, "complete")
    assert shop.post(INIT, {"visitor_id": "v1"}).json()["assignments"] == []


def test_a_preview_may_ask_for_a_variant_even_of_a_draft(shop: Shop) -> None:
    path = shop.customer.an_experiment(f"/projects/{shop.project_id}", name="A draft")
    draft = shop.customer.get(path).json()["data"]
    forced = {draft["id"]: "Treatment", shop.experiment["id"]: variant(shop, 1)["id"]}
    answer = shop.post(INIT, {"visitor_id": "v1", "assignments": forced}).json()["assignments"]
    assert [(one["variant_id"], one["status"]) for one in answer] == [
        (variant(shop, 1)["id"], "forced"),
        (draft["variants"][1]["id"], "forced"),
    ]
    assert shop.stored_count() == 0


def test_a_guessed_test_key_shows_no_draft_to_the_public(shop: Shop) -> None:
    shop.customer.an_experiment(f"/projects/{shop.project_id}", name="A draft")
    asked = {"visitor_id": "v1", "assignments": {"a-draft": "Treatment"}}
    public = shop.post(INIT, asked).json()["assignments"]
    assert [one["test_key"] for one in public] == [shop.experiment["test_key"]]
    of_team = shop.customer.post("/sdk/init", {**asked, "project_id": shop.project_id}).json()["assignments"]
    assert ("a-draft", "forced") in [(one["test_key"], one["status"]) for one in of_team]


def test_a_preview_of_what_does_not_exist_changes_nothing(shop: Shop) -> None:
    assert (
        shown(shop, assignments={"no-such-test": "x", shop.experiment["id"]: "no such variant"})["status"]
        == "new"
    )


def test_targeting_and_pages_keep_newcomers_out(shop: Shop) -> None:
    drive(shop, "pause")
    only_canada = {
        "version": 2,
        "root": {
            "operator": "and",
            "children": [{"field": "country", "operator": "in", "values": ["CA"]}],
        },
    }
    revise(shop, targeting_rules=only_canada)
    drive(shop, "resume")
    page = "https://shop.example"
    assert shown(shop, visitor_id="a", url=page, attributes={"country": "US"})["status"] == "excluded"
    assert (
        shown(shop, visitor_id="b", url=f"{page}/about", attributes={"country": "CA"})["status"] == "excluded"
    )
    assert shown(shop, visitor_id="c", url=page, attributes={"country": "CA"})["status"] == "new"
    assert shown(shop, visitor_id="c", url=f"{page}/about", attributes={})["status"] == "existing"


def test_a_server_gets_assignments_for_its_visitors(shop: Shop) -> None:
    server = shop.customer.with_key("sdk:write")
    body = {"visitor_id": "v1", "project_id": shop.project_id}
    answer = server.call("POST", "/sdk/init", json=body).json()
    assert answer["visitor_id"] == "v1"
    assert answer["assignments"][0]["variant_id"] == shown(shop)["variant_id"]


@pytest.mark.parametrize(
    ("visit", "field"),
    [
        ({"visitor_id": "undefined"}, "visitor_id"),
        ({"visitor_id": 5}, "visitor_id"),
        ({"user_id": ""}, "user_id"),
        ({"url": "x" * 8001}, "url"),
        ({"attributes": []}, "attributes"),
        ({"attributes": {"plan": []}}, "attributes"),
        ({"assignments": {"a": 1}}, "assignments[...]"),
    ],
)
def test_a_visit_that_makes_no_sense_is_refused(shop: Shop, visit: dict[str, Any], field: str) -> None:
    answer = shop.post(INIT, visit)
    assert answer.status_code == 422
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == [field]


def test_a_bot_is_assigned_and_leaves_no_trace(shop: Shop) -> None:
    answer = shop.post(INIT, {"visitor_id": "v1"}, User_Agent="Googlebot/2.1").json()
    assert answer["assignments"][0]["status"] == "new"
    assert shop.stored_count() == 0


def test_the_first_init_from_the_projects_own_pages_verifies_the_snippet(shop: Shop) -> None:
    def is_verified() -> bool:
        return bool(shop.customer.get(f"/projects/{shop.project_id}").json()["data"]["snippet_verified"])

    shop.post(INIT, {}, Origin="https://elsewhere.example")
    assert not is_verified()
    shop.post(INIT, {}, Origin="https://shop.example")
    assert is_verified()


def test_a_redirect_experiment_says_where_to_go(shop: Shop) -> None:
    to = {"selector": "html", "action": "replace", "value": "/new-landing"}
    variants = [{"name": "Control", "is_control": True, "weight": 0}, {"name": "New", "changes": [to]}]
    path = shop.customer.an_experiment(
        f"/projects/{shop.project_id}", name="Landing", type="redirect", variants=variants
    )
    assert shop.customer.post(f"{path}/start").status_code == 200
    visit = {"visitor_id": "v1", "url": "https://shop.example/"}
    landing = shop.post(INIT, visit).json()["assignments"][-1]
    assert landing["redirect_url"] == "https://shop.example/new-landing"


def test_the_first_variant_of_a_user_holds_on_all_devices(shop: Shop) -> None:
    first = shown(shop, visitor_id="v0", user_id="ann")
    for number in range(1, 9):
        later = shown(shop, visitor_id=f"v{number}", user_id="ann")
        assert (later["variant_id"], later["status"]) == (first["variant_id"], "existing")
        # It is stored for the device, so that it stays without the user id.
        assert shown(shop, visitor_id=f"v{number}")["variant_id"] == first["variant_id"]


def test_a_visitor_that_identified_before_gets_the_variant_of_its_user(shop: Shop) -> None:
    first = shown(shop, visitor_id="v0")
    for number in range(9):
        identify(shop, f"v{number}", "ann")
    later = {shown(shop, visitor_id=f"v{number}")["variant_id"] for number in range(1, 9)}
    assert later == {first["variant_id"]}


def test_init_with_a_user_id_joins_known_visitors_too(shop: Shop) -> None:
    variants = {f"v{number}": shown(shop, visitor_id=f"v{number}")["variant_id"] for number in range(9)}
    assert len(set(variants.values())) == 2
    for _ in range(2):
        assert {shown(shop, visitor_id=one, user_id="ann")["variant_id"] for one in variants} == {
            variants["v0"]
        }
    assert sorted(shop.stored("type")) == ["assignment"] * 9 + ["init"] * 9


def test_a_placeholder_of_many_visitors_gives_each_its_own_variant(shop: Shop) -> None:
    experiment = shop.customer.services.catalog.experiments.get(shop.project_id, shop.experiment["id"])
    for number in range(MAX_VISITORS_OF_USER + 1):
        identify(shop, f"guest{number}", "guest")
    for number in range(9):
        own = shown(shop, visitor_id=f"v{number}", user_id="guest")
        expected = assign(experiment, f"v{number}").variant
        assert expected is not None
        assert own["variant_id"] == expected.id


def identify(shop: Shop, visitor: str, user: str) -> None:
    event = {"event_id": f"{visitor} {user}", "type": "identify", "visitor_id": visitor, "user_id": user}
    assert shop.post(TRACK, {"batch": [event]}).json()["accepted"] == 1


def segments(shop: Shop, **filters: str) -> int:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results/summary"
    return int(shop.customer.get(path, **filters).json()["data"]["primary_goal_summary"]["visitors"])


def expose(shop: Shop, visitor: str = "v1", **fields: Any) -> None:
    event = shop.exposure(f"{visitor}-{shop.stored_count()}", visitor_id=visitor, **fields)
    assert shop.post(TRACK, {"batch": [event]}).json()["results"][0]["code"] is None


def test_attributes_and_the_address_belong_to_the_exposure(shop: Shop) -> None:
    page = "https://shop.example/?utm_source=news&utm_medium=email"
    shown(shop, url=page, attributes={"country": "us", "plan": "pro", "visitor_type": "returning"})
    expose(shop)
    assert segments(shop, country="US") == segments(shop, country="us") == 1
    assert segments(shop, utm_source="news", utm_medium="email", visitor_type="returning") == 1
    assert segments(shop, custom_dimension_key="plan", custom_dimension_value="pro") == 1


def test_the_exposure_and_then_the_last_init_before_it_win(shop: Shop) -> None:
    shown(shop, attributes={"country": "US", "plan": "free", "size": "S"})
    assert shown(shop, attributes={"plan": "pro"})["status"] == "existing"
    expose(shop, attributes={"size": "L"})
    # What comes after the first exposure is of another visit.
    shown(shop, attributes={"country": "DE", "plan": "old"})
    for key, value in {"plan": "pro", "size": "L"}.items():
        assert segments(shop, custom_dimension_key=key, custom_dimension_value=value) == 1
    assert segments(shop, country="US") == 1


def test_attributes_win_over_the_headers_of_a_later_exposure(shop: Shop) -> None:
    headers = {
        "User_Agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Firefox/140.0",
        "CF_IPCountry": "FR",
    }
    visit = {"visitor_id": "v1", "attributes": {"device_type": "tablet"}}
    assert shop.post(INIT, visit, **headers).status_code == 200
    assert shop.post(TRACK, {"batch": [shop.exposure()]}, **headers).json()["accepted"] == 1
    assert segments(shop, device_type="tablet", country="FR", browser="Firefox") == 1


def test_a_visitor_without_an_assignment_keeps_the_attributes_too(shop: Shop) -> None:
    drive(shop, "pause")
    assert shown(shop, attributes={"country": "US"})["status"] == "excluded"
    drive(shop, "resume")
    expose(shop)
    assert segments(shop, country="US") == 1


def test_a_user_id_at_init_or_before_identifies_the_visitor(shop: Shop) -> None:
    shown(shop, visitor_id="by-init", user_id="u1")
    known = {"event_id": "known", "type": "identify", "visitor_id": "by-event", "user_id": "u2"}
    assert shop.post(TRACK, {"batch": [known]}).json()["accepted"] == 1
    expose(shop, "by-init")
    expose(shop, "by-event")
    expose(shop, "by-attribute", attributes={"visitor_identity": "identified"})
    expose(shop, "by-exposure", user_id="u3")
    expose(shop, "nobody")
    later = {"event_id": "later", "type": "identify", "visitor_id": "nobody", "user_id": "u4"}
    assert shop.post(TRACK, {"batch": [later]}).json()["accepted"] == 1
    assert segments(shop, visitor_identity="identified") == 4
    assert segments(shop, visitor_identity="anonymous") == 1


def test_an_init_without_news_stores_nothing(shop: Shop) -> None:
    for _ in range(3):
        shown(shop, attributes={"plan": "pro"})
    assert shop.stored("type") == ["assignment"]
    for _ in range(2):
        shown(shop, attributes={"plan": "free"})
    assert shop.stored("type") == ["assignment", "init"]
