"""Names, rules and reasons of a page are told to the holder of a debug token, and to nobody else."""

import logging
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from api.sdk.page_debug import REFUSED
from pipeline.clock import utc_now
from tests.api.request_bodies import error_of
from tests.api.shops import Shop

DEBUG = "/api/v1/sdk/debug"
PAGE = "https://shop.example/cart"
IN_GERMAN = {"field": "language", "operator": "equals", "values": ["de"]}


def a_token(shop: Shop, *, age: timedelta = timedelta()) -> str:
    key = shop.customer.services.catalog.keys.of_account(shop.customer.account.id)[0]
    tokens = shop.customer.services.debug_tokens
    return tokens.create(key, shop.project_id, "https://truelift.example", now=utc_now() - age)


def ask(shop: Shop, token: str, **visit: Any) -> httpx2.Response:
    return shop.post(DEBUG, {"token": token, "visit": {"visitor_id": "v1", "url": PAGE, **visit}})


def explained(shop: Shop, **visit: Any) -> dict[str, dict[str, Any]]:
    answer = ask(shop, a_token(shop), **visit)
    assert answer.status_code == 200, answer.text
    return {one["name"]: one for one in answer.json()["experiments"]}


def test_the_holder_gets_names_rules_and_the_dashboards_origin(shop: Shop) -> None:
    answer = ask(shop, a_token(shop))
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    content = answer.json()
    assert content["dashboard"] == "https://truelift.example"
    (one,) = content["experiments"]
    assert one["id"] == shop.experiment["id"]
    assert [variant["name"] for variant in one["variants"]] == [
        variant["name"] for variant in shop.experiment["variants"]
    ]


def test_each_rule_is_told_whether_it_holds(shop: Shop) -> None:
    rules = [{"type": "exclude", "match_type": "contains", "value": "cart"}]
    root = {"operator": "and", "children": [{"operator": "not", "children": [IN_GERMAN]}, IN_GERMAN]}
    path = f"/projects/{shop.project_id}"
    targeted = shop.customer.an_experiment(
        path,
        name="Targeted",
        url="/",
        url_match_type="starts_with",
        url_rules=rules,
        targeting_rules={"version": 2, "root": root},
    )
    assert shop.customer.post(f"{targeted}/start").status_code == 200
    one = explained(shop, attributes={"language": "fr"})["Targeted"]
    assert [(rule["type"], rule["holds"]) for rule in one["pages"]] == [("include", True), ("exclude", True)]
    group, condition = one["targeting"]["children"]
    assert group["children"][0]["holds"] is False
    assert condition["holds"] is False
    assert condition["reason"] == "language is 'fr'; wanted: equals de"
    assert one["reason"] == "the experiment is not on this page"


def test_drafts_and_ended_experiments_of_the_page_say_so(shop: Shop) -> None:
    path = f"/projects/{shop.project_id}"
    shop.customer.an_experiment(path, name="Draft here", url=PAGE)
    shop.customer.an_experiment(path, name="Draft elsewhere", url="https://shop.example/other")
    ended = shop.customer.an_experiment(path, name="Ended", url=PAGE)
    for step in ("start", "complete"):
        answer = shop.customer.post(f"{ended}/{step}", {} if step == "complete" else None)
        assert answer.status_code == 200, answer.text
    found = explained(shop)
    assert "Draft elsewhere" not in found
    assert found["Draft here"]["reason"] == "the experiment is draft and takes no new visitors"
    assert found["Ended"]["reason"] == "the experiment is completed and takes no new visitors"


def test_nothing_is_stored(shop: Shop) -> None:
    before = shop.stored_count()
    explained(shop, user_id="u1", attributes={"country": "DE"})
    assert shop.stored_count() == before


def test_without_a_token_that_holds_nothing_is_told(shop: Shop) -> None:
    old = a_token(shop, age=timedelta(hours=1, minutes=1))
    for token in (old, "forged", ""):
        error = error_of(ask(shop, token), 403, "forbidden")
        assert error["message"] == REFUSED
    assert ask(shop, a_token(shop)).status_code == 200
    error_of(shop.post(DEBUG, {}), 403, "forbidden")
    error_of(shop.post(DEBUG, {"token": 1}), 422, "validation_error")
    error_of(shop.post(DEBUG, b"{"), 400, "invalid_json")
    error_of(ask(shop, a_token(shop), visitor_id="undefined"), 422, "validation_error")


def test_the_token_of_another_project_tells_nothing(shop: Shop) -> None:
    path = shop.customer.a_project(name="Other")
    other = Shop.opened_by(shop.customer, path, shop.customer.an_experiment(path))
    error_of(ask(other, a_token(shop)), 403, "forbidden")


def test_no_log_line_has_the_token(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        token = a_token(shop)
        ask(shop, token)
        ask(shop, token, visitor_id="undefined")
    assert token not in caplog.text
