"""The debug panel says for each experiment why the visitor is in or out, and what became of each event."""

import json

import pytest
from playwright.sync_api import Page, Route

from api.sdk.script_files import DEBUG, read_script
from tests.api.sdk.browser.debug_shop import Shop, changing, condition, open_panel, sections, text_of
from tests.api.sdk.browser.site import KEY, Site, a_config, a_page, an_experiment
from tests.waiting import wait_until


def test_each_experiment_says_why_it_is_in_or_out(shop: Shop, page: Page) -> None:
    shop.start("Shown", variants=changing(("h1", "modify_text", "Changed"), ("h6", "modify_text", "None")))
    shop.start("Broken", variants=changing(("p:no-such(", "modify_text", "New")))
    shop.start("Manual", trigger="manual")
    shop.start("Elsewhere", url="/elsewhere")
    shop.start("German", **condition("language", "de"))
    shop.start("Paused", "pause")
    shop.start("Ended", "complete")
    shop.start("Nobody", traffic_allocation=0)
    shop.start("Account", unit={"attribute": "account"})
    # Whose automaton is too large for a browser.
    pattern = {"field": "url", "operator": "regex", "values": ["(shop|buy){40}[a-z]{300}x{300}"]}
    root = {"version": 2, "root": {"operator": "and", "children": [pattern]}}
    shop.start("By server", targeting_rules=root)
    anywhere = {**pattern, "values": [f"{pattern['values'][0]}|localhost"]}
    in_all = {"version": 2, "root": {"operator": "and", "children": [anywhere]}}
    shop.start("In by server", targeting_rules=in_all)
    open_panel(shop, page, shop.token())
    assert page.url == f"{shop.site.base}/"
    wait_until(lambda: "In" in sections(page).get("Shown: Treatment", ""))
    wait_until(lambda: "In by server: Treatment" in sections(page))
    found = sections(page)
    reasons = {
        "Shown: Treatment": "In: assigned by hash, and keeps this variant.",
        "Manual: Treatment": "In, and waits for its trigger: truelift.activate.",
        "Elsewhere: out": "Out: the experiment is not on this page.",
        "German: out": "Out: the targeting rules do not let this visitor in.",
        "Paused: out": "Out: the experiment is paused, and takes no new visitors.",
        "Ended: out": "Out: the experiment is completed and takes no new visitors.",
        "Nobody: out": "Out: by hash outside the 0% of visitors that take part.",
        "Account: out": "Out: the page has not said who the visitor's user or account is",
        "By server: out": "Out, as the server decides: url is ",
        "In by server: Treatment": "In: assigned by the server.",
    }
    assert {title: reason in found.get(title, "") for title, reason in reasons.items()} == dict.fromkeys(
        reasons, True
    ), found
    # Rule by rule, with what is the case here.
    assert "✗ on pages: starts with /elsewhere" in found["Elsewhere: out"]
    assert "✓ on pages: starts with /" in found["German: out"]
    assert "✗ language equals de (here: “en-US”)" in found["German: out"]
    # Changes that were made, and those that were not.
    assert "modify text h1: applied to 1" in found["Shown: Treatment"]
    assert "modify text h6: no element matches" in found["Shown: Treatment"]
    assert "modify text p:no-such(: given up:" in found["Broken: Treatment"]
    wait_until(lambda: "exposure variant 1: stored" in text_of(page))
    assert "pageview: stored" in text_of(page)
    page.evaluate("truelift.revenue(1e17)")
    wait_until(lambda: "conversion purchase: rejected: revenue_cents must be" in text_of(page))


def consent(page: Page, answer: str) -> None:
    page.evaluate(f"truelift.consent({answer})")


def test_consent_is_a_reason_and_the_panel_outlives_a_refusal(shop: Shop, page: Page) -> None:
    shop.start("Shown", variants=changing(("h1", "modify_text", "Changed")))
    shop.customer.patch(shop.project, {"settings": {"require_consent": True}})
    open_panel(shop, page, shop.token())
    assert "The visitor has not answered the question of consent yet" in sections(page)["Shown: out"]
    assert page.evaluate("document.cookie") == ""
    consent(page, "true")
    wait_until(lambda: "In: assigned by hash" in sections(page).get("Shown: Treatment", ""))
    consent(page, "false")
    wait_until(lambda: "The visitor has refused consent" in sections(page).get("Shown: out", ""))
    page.click("a")
    wait_until(lambda: "Shown: out" in sections(page) if page.locator("truelift-debug h2").count() else False)


def test_each_rule_of_a_group_says_whether_it_holds(shop: Shop, page: Page) -> None:
    german = {"field": "language", "operator": "equals", "values": ["de"]}
    english = {"field": "language", "operator": "starts_with", "values": ["en"]}
    local = {"field": "url", "operator": "regex", "values": ["^http://local.*:[0-9]+/$"]}
    size = {"field": "query_param", "key": "size", "operator": "exists"}
    groups = [{"operator": "or", "children": [german, local]}, {"operator": "not", "children": [english]}]
    root = {"operator": "and", "children": [*groups, size]}
    shop.start("Grouped", targeting_rules={"version": 2, "root": root})
    open_panel(shop, page, shop.token())
    lines = sections(page)["Grouped: out"]
    order = (
        "✓ one of these",
        "✗ language equals de (here: “en-US”)",
        "✓ url regex ^http://local.*:[0-9]+/$ (here: “http://localhost",
        "✗ none of these",
        "✓ language starts with en (here: “en-US”)",
        "✗ query_param “size” exists  (here: not known)",
    )
    places = [lines.find(line) for line in order]
    assert places == sorted(places)
    assert -1 not in places, lines


@pytest.mark.parametrize(
    ("setting", "signal", "reason"),
    [
        ("respect_dnt", "[navigator, 'doNotTrack', '1']", "This browser sends DNT"),
        pytest.param(
            "respect_gpc",
            "[navigator, 'globalPrivacyControl', true]",
            "This browser sends GPC",
            marks=pytest.mark.long(seconds=1),
        ),
        pytest.param(
            "bot_filtering",
            "[navigator, 'webdriver', true]",
            "This browser is automated",
            marks=pytest.mark.long(seconds=1),
        ),
    ],
)
def test_a_signal_of_the_browser_is_a_reason(
    shop: Shop, page: Page, setting: str, signal: str, reason: str
) -> None:
    shop.start("Shown")
    shop.customer.patch(shop.project, {"settings": {setting: True}})
    page.add_init_script(
        f"{{ const [on, name, value] = {signal}; Object.defineProperty(on, name, {{ value }}) }}"
    )
    open_panel(shop, page, shop.token())
    assert reason in sections(page)["Shown: out"]


def test_a_browser_that_stores_nothing_has_no_redirect(shop: Shop, page: Page) -> None:
    shop.start("Redirect", type="redirect", variants=changing(("html", "replace", "/next")))
    page.add_init_script("delete window.sessionStorage; window.name = 'of the page'")
    page.add_init_script("Object.defineProperty(window, 'sessionStorage', { get() { throw Error() } })")
    open_panel(shop, page, shop.token())
    assert "Out: this browser stores nothing" in sections(page)["Redirect: out"]


def test_a_late_tag_is_a_reason(shop: Shop, page: Page) -> None:
    shop.start("Shown", variants=changing(("h1", "modify_text", "Changed")))
    shop.site.pages["/"] = shop.site.pages["/"].replace('data-timeout="10000"', 'data-timeout="1"')
    held: list[Route] = []
    page.route("**/sdk/v1/pk_*.js", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    page.goto(f"{shop.site.base}/#truelift_debug={shop.token()}", wait_until="commit")
    wait_until(lambda: page.evaluate("window.truelift?.late") and held)
    held[0].continue_()
    wait_until(
        lambda: (
            page.locator("truelift-debug details").count()
            and "Out: the script was late" in sections(page)["Shown: out"]
        )
    )
    assert page.inner_text("h1") == "Original"


def test_a_variant_from_before_is_a_reason(shop: Shop, page: Page) -> None:
    assigned = []
    for name, *steps in (("Kept",), ("Kept in a pause", "pause")):
        path = shop.start(name, *steps)
        control = shop.customer.data_of(path)["variants"][0]["id"]
        assigned.append(f"{shop.ids[name][-6:]}:{control[-6:]}")
    kept = {"name": "truelift_assigned", "value": ".".join(assigned), "url": shop.site.base}
    page.context.add_cookies([kept])  # type: ignore[list-item] # as a dict
    open_panel(shop, page, shop.token())
    found = sections(page)
    another = "In: keeps its variant from before; a new visitor would have another."
    assert another in found["Kept: Control"]
    paused = "In: keeps its variant from before; now, the experiment is paused, and takes no new visitors."
    assert paused in found["Kept in a pause: Control"]


def test_a_first_variant_that_the_server_does_not_tell_is_a_reason(site: Site, page: Page) -> None:
    experiment = an_experiment(unsettled=[[0, 2**31]])
    site.config = a_config(experiment)
    site.pages["/"] = a_page(head=site.tag())
    site.files[f"/sdk/v1/{KEY}/debug.js"] = read_script(DEBUG).decode()
    named = {
        **{name: experiment[name] for name in ("id", "test_key", "status")},
        "name": "Weighed anew",
        "traffic_allocation": 100,
        "variants": [{"id": one["id"], "name": one["id"]} for one in experiment["variants"]],
        "pages": [],
        "targeting": {"operator": "and", "children": []},
        "reason": "",
    }
    answer = {"project": "Shop", "dashboard": site.service, "experiments": [named]}
    site.files["/api/v1/sdk/debug"] = json.dumps(answer)
    # murmur3("v:salt:1:returning-1") is in the lower half.
    known = {"name": "truelift_visitor", "value": "returning-1", "url": site.base}
    page.context.add_cookies([known])  # type: ignore[list-item] # its keys are those of a cookie
    page.goto(f"{site.base}/#truelift_debug=token")
    page.wait_for_selector("truelift-debug summary")
    assert "Out: weights have changed since the start" in sections(page)["Weighed anew: out"]
