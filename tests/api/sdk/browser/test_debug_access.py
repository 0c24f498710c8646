"""Names, rules and verdicts are for the holder of a token alone, and the token for nobody else."""

import httpx2
from playwright.sync_api import Page, Request

from api.sdk.page_debug import REFUSED
from api.sdk.script_files import DEBUG, read_script
from pipeline.clock import utc_now
from tests.api.sdk.browser.debug_shop import Shop, condition, open_panel, sections, text_of
from tests.waiting import wait_until

OPENED = "Names, rules and verdicts are shown where this page is opened from its project's installation"


def test_without_a_token_that_holds_a_sentence_says_so(shop: Shop, page: Page) -> None:
    shop.start("Secret name")
    keys = shop.services.catalog.keys
    account = shop.customer.account.id
    ann = keys.create(account, keys.of_account(account)[0].member_id, "Ann's", ("experiments:read",))[0]
    tokens = shop.services.debug_tokens
    revoked = tokens.create(ann, shop.project.rpartition("/")[2], "http://a.example", now=utc_now())
    keys.revoke(account, ann.id, now=utc_now())
    old = tokens.cipher.encrypt_at_time(
        tokens.cipher.decrypt(shop.token()), int(utc_now().timestamp()) - 3700
    )
    other = shop.token(project=shop.customer.a_project(name="Other"))
    for token in (old.decode(), f"{shop.token()[:-9]}AAAAAAAA=", other, revoked):
        open_panel(shop, page, token)
        assert REFUSED in text_of(page)
        assert sections(page).keys() == {"secret-name: variant 1"}
        assert "Secret name" not in page.content() + text_of(page)
        assert "Events" not in text_of(page)


def test_a_stranger_sees_what_the_configuration_has(shop: Shop, page: Page) -> None:
    shop.start("Secret name", **condition("language", "en-US"))
    shop.customer.an_experiment(shop.project, name="Secret draft", url="/", url_match_type="starts_with")
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))  # noqa: PLW0108 - Playwright marks it
    open_panel(shop, page, None)
    wait_until(lambda: sections(page))
    sdk_key = shop.customer.data_of(f"{shop.project}/installation")["api_key"]
    config = httpx2.get(f"{shop.customer.client.base_url}/api/v1/sdk/config", params={"key": sdk_key}).text
    assert OPENED in text_of(page)
    # All that is not the panel's own sentence is the test key.
    own = text_of(page).replace("secret-name", "")
    assert '"test_key":"secret-name"' in config
    assert set(own.split()) <= set(f"Truelift Close : variant 1 {OPENED} in the dashboard.".split())
    wait_until(lambda: page.evaluate("true") and any("/sdk/track" in one.url for one in sent))
    # The panel asks for nothing, and its script is that of every project.
    ours = {one.url.partition("?")[0].rpartition("/")[2] for one in sent if "/sdk/" in one.url}
    assert ours == {f"{sdk_key}.js", "debug.js", "track"}
    script = httpx2.get(f"{shop.customer.client.base_url}/sdk/v1/{sdk_key}/debug.js").content
    assert script == read_script(DEBUG)


def test_the_token_stays_out_of_addresses_events_and_referrers(shop: Shop, page: Page) -> None:
    shop.start("Shown", url="/")
    shop.site.page_headers = {"Referrer-Policy": "unsafe-url"}
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))  # noqa: PLW0108 - Playwright marks it
    token = shop.token()
    page.goto(f"{shop.site.base}/?size=1#/cart?a=1&truelift_debug={token}")
    page.wait_for_selector("truelift-debug summary")
    assert page.url == f"{shop.site.base}/?size=1#/cart?a=1"
    # What is typed into the query reaches the site itself, once; a fragment reaches nobody.
    assert [one.url for one in sent if token in one.url + str(one.headers)] == []
    shop.site.page_headers = {}
    page.goto(f"{shop.site.base}/next?truelift_debug={token}&size=1")
    page.wait_for_selector("truelift-debug summary")
    assert page.url == f"{shop.site.base}/next?size=1"
    page.click("a")
    wait_until(lambda: page.evaluate("true") and sum("/sdk/track" in one.url for one in sent) > 1)
    assert token in page.evaluate("sessionStorage.getItem('truelift_debug')")
    assert token not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
    told = [one for one in sent if token in one.url + str(one.headers)]
    assert {one.url.startswith(shop.site.base) for one in told} == {True}
    holders = {one.url.partition("?")[0].rpartition("/")[2] for one in sent if token in (one.post_data or "")}
    assert holders == {"debug"}
