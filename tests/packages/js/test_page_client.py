"""The client of a page, in Chromium: variants, consent, and what a server has decided."""

import json

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_config, an_experiment
from tests.packages.js.installed import Installed
from tests.packages.js.pages import KEPT, NAMED, a_flag, begin, open_page
from tests.waiting import wait_until


def test_variant_is_exposed_once_and_a_peek_counts_nobody(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag(), a_flag(number=2))
    open_page(site, page, package)
    begin(page)
    assert page.evaluate(
        "[client.peek('test-1'), client.peek('test-1')].map((one) => one.payload.steps)"
    ) == [1, 1]
    variant = page.evaluate("client.variant('test-1')")
    assert variant == {
        "name": "One page",
        "index": 1,
        "isControl": False,
        "payload": {"steps": 1},
        "id": "var_000001b",
        "experimentId": "exp_000001",
    }
    assert page.evaluate("client.value('test-1', null)") == {"steps": 1}
    assert page.evaluate("[client.variant('none'), client.value('none', 7)]") == [None, 7]
    page.evaluate(
        """client.track("signup", { value: 2 });
        client.revenue(1999, { transaction_id: "1" });
        client.pageview()"""
    )
    wait_until(lambda: not page.evaluate(KEPT))
    (exposure,) = site.events("exposure")
    assert exposure["variant_id"] == "var_000001b"
    assert exposure["attributes"]["visitor_type"] == "new"
    assert exposure["url"] == f"{site.base}/"
    assert site.events("custom_event")[0]["value"] == 2
    assert (site.events("conversion")[0]["revenue_cents"], len(site.events("pageview"))) == (1999, 1)
    assert page.evaluate("failures") == []


def test_nothing_is_stored_or_sent_without_the_consent_that_is_required(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag(), settings={"require_consent": True})
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("[client.variant('test-1'), client.visitorId]") == [None, None]
    page.evaluate("client.track('before')")
    assert page.evaluate("[document.cookie, localStorage.length]") == ["", 0]
    assert site.bodies == []
    page.evaluate("client.consent(true)")
    assert page.evaluate("client.variant('test-1').index") == 1
    wait_until(lambda: site.events("exposure") and site.events("custom_event"))
    assert "consent=granted" in next(path for _, path, _ in site.requests if "/track" in path)
    page.evaluate("client.consent(false)")
    assert page.evaluate("[client.variant('test-1'), client.visitorId]") == [None, None]
    assert "truelift_visitor" not in page.evaluate("document.cookie")


def test_signals_and_bots_see_the_original(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag(), settings={"respect_gpc": True})
    page.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.variant('test-1')") is None
    assert page.evaluate("document.cookie") == ""


def test_preview_shows_the_variant_that_it_asks_for_and_counts_nobody(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag(), a_flag(number=2))
    open_page(site, page, package)
    page.goto(f"{site.base}/?truelift_preview=exp_000001:var_000001a")
    for _ in ("the page that asks", "a later one of the tab"):
        page.wait_for_function("Boolean(window.make)")
        begin(page)
        shown = page.evaluate("['test-1', 'test-2'].map((key) => client.variant(key)?.index ?? null)")
        assert shown == [0, None]
        page.evaluate("client.track('signup')")
        page.goto(f"{site.base}/")
    assert site.bodies == []
    assert page.evaluate("document.cookie") == ""


def test_the_visitor_that_is_identified_decides_anew(site: Site, page: Page, package: Installed) -> None:
    rule = {"field": "custom_dimension", "key": "plan", "operator": "equals", "values": ["pro"]}
    site.config = a_config(
        a_flag(targeting={"operator": "and", "children": [rule]}),
        an_experiment(number=2, unit="user", thresholds=[2**31, 2**32]),
    )
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("[client.peek('test-1'), client.peek('test-2')]") == [None, None]
    page.evaluate("client.subscribe(() => (window.changed = true)); client.identify('u1', { plan: 'pro' })")
    assert page.evaluate("changed")
    assert page.evaluate("[client.variant('test-1').index, client.variant('test-2') !== null]") == [1, True]
    wait_until(lambda: len(site.events("exposure")) == 2)
    assert {event["user_id"] for event in site.events("exposure")} == {"u1"}


def test_variants_are_those_of_the_pages_of_the_experiment(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(
        a_flag(pages={"include": [{"match_type": "exact", "value": "/shop"}], "exclude": []})
    )
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.peek('test-1')") is None
    page.evaluate("history.pushState(null, '', '/shop')")
    assert page.evaluate("client.peek('test-1').index") == 1


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_visitor_whose_variant_is_lost_after_a_change_of_weights_is_asked_for(
    site: Site, page: Page, package: Installed, *, is_answered: bool
) -> None:
    site.config = a_config(an_experiment(unsettled=[[0, 2**32]]))
    open_page(site, page, package)
    begin(page)
    # Who is new cannot have had another variant.
    assert page.evaluate("client.peek('test-1').index") == 1
    first = {"experiment_id": "exp_000001", "variant_id": "var_000001a", "covers_page": True}
    site.init = lambda _: {"assignments": [first]} if is_answered else {}
    page.evaluate("sessionStorage.clear()")
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.variant('test-1')?.index ?? null") == (0 if is_answered else None)
    page.evaluate("client.track('done')")
    wait_until(lambda: site.events("custom_event"))
    assert len(site.events("exposure")) == is_answered
    assert sum(path.startswith("/api/v1/sdk/init") for _, path, _ in site.requests) == 1


BOOTSTRAP = {
    "visitorId": "visitor-of-the-server",
    "variants": {
        "test-1": {
            **NAMED,
            "index": 1,
            "isControl": False,
            "id": "var_000001b",
            "experimentId": "exp_000001",
        }
    },
}


def test_bootstrap_shows_what_the_server_has_decided_before_any_answer(
    site: Site, page: Page, package: Installed
) -> None:
    # By its hash the visitor would get the control.
    site.config = a_config(a_flag(thresholds=[2**32, 2**32]))
    open_page(site, page, package)
    found = page.evaluate(
        """(bootstrap) => {
          window.client = make({ bootstrap });
          const first = client.variant("test-1");
          return client.ready.then(() => [first.index, client.variant("test-1") === first, client.visitorId]);
        }""",
        BOOTSTRAP,
    )
    assert found == [1, True, "visitor-of-the-server"]
    wait_until(lambda: site.events("exposure"))
    (exposure,) = site.events("exposure")
    assert (exposure["visitor_id"], exposure["variant_id"]) == ("visitor-of-the-server", "var_000001b")
    assert json.dumps(page.evaluate("document.cookie")).count("visitor-of-the-server") == 1
