"""Debug tokens hold for an hour, for one project, and no longer than their maker's right."""

from datetime import UTC, datetime, timedelta

import pytest

from api.sdk.debug_tokens import DebugTokens, Grant
from pipeline.store.catalog.keys import ApiKey
from tests.api.shops import Shop

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
DASHBOARD = "https://truelift.shop.example"


def tokens_of(shop: Shop) -> DebugTokens:
    return shop.customer.services.debug_tokens


def a_key(shop: Shop, *scopes: str, project_ids: tuple[str, ...] = ()) -> ApiKey:
    shop.customer.with_key(*scopes, project_ids=project_ids)
    return shop.customer.services.catalog.keys.of_account(shop.customer.account.id)[0]


def a_token(shop: Shop, key: ApiKey) -> str:
    return tokens_of(shop).create(key, shop.project_id, DASHBOARD, now=NOW)


def read(shop: Shop, token: str, *, after: timedelta = timedelta()) -> Grant | None:
    return tokens_of(shop).read(token, shop.project_id, now=NOW + after)


def test_a_token_names_its_maker_and_the_dashboard_for_an_hour(shop: Shop) -> None:
    key = a_key(shop)
    token = a_token(shop, key)
    grant = Grant(key.account_id, key.id, shop.project_id, DASHBOARD)
    assert read(shop, token, after=timedelta(hours=1)) == grant
    assert read(shop, token, after=timedelta(hours=1, seconds=1)) is None
    # Whoever sees the address learns none of it.
    assert key.id not in token


def test_a_forged_token_opens_nothing(shop: Shop) -> None:
    token = a_token(shop, a_key(shop))
    own = DebugTokens.of(bytes(32), shop.customer.services.catalog)
    forged = own.create(a_key(shop), shop.project_id, DASHBOARD, now=NOW)
    changed = token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:]
    for wrong in (forged, changed, token[:40], "", "é", "=", "svc_live_x_y"):
        assert read(shop, wrong) is None, wrong
    # What else the service encrypts is no token.
    other = shop.customer.services.cipher.encrypt_at_time(b"{}", int(NOW.timestamp())).decode()
    assert read(shop, other) is None


def test_a_token_is_of_one_project(shop: Shop) -> None:
    token = a_token(shop, a_key(shop))
    other = shop.customer.a_project(name="Other").rpartition("/")[2]
    assert tokens_of(shop).read(token, other, now=NOW) is None


@pytest.mark.parametrize("scopes", [("projects:read", "results:read"), ("sdk:write",)])
def test_the_makers_key_needs_the_scope(shop: Shop, scopes: tuple[str, ...]) -> None:
    assert read(shop, a_token(shop, a_key(shop, *scopes))) is None


def test_the_makers_key_has_to_reach_the_project(shop: Shop) -> None:
    other = shop.customer.a_project(name="Other").rpartition("/")[2]
    assert read(shop, a_token(shop, a_key(shop, project_ids=(other,)))) is None
    assert read(shop, a_token(shop, a_key(shop, project_ids=(shop.project_id,))))


def test_a_token_ends_with_its_makers_key(shop: Shop) -> None:
    key = a_key(shop)
    token = a_token(shop, key)
    assert read(shop, token)
    shop.customer.services.catalog.keys.revoke(key.account_id, key.id, now=NOW)
    assert read(shop, token) is None


def test_a_token_ends_with_its_makers_membership(shop: Shop) -> None:
    ann = {"email_address": "ann@acme.example", "name": "Ann", "role": "member"}
    added = shop.customer.post("/account/members", ann)
    assert added.status_code == 201, added.text
    member_id = added.json()["data"]["id"]
    keys = shop.customer.services.catalog.keys
    key, _ = keys.create(shop.customer.account.id, member_id, "Ann's", ("experiments:read",))
    token = a_token(shop, key)
    assert read(shop, token)
    assert shop.customer.call("DELETE", f"/account/members/{member_id}").status_code == 204
    assert read(shop, token) is None
