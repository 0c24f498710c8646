"""Goals by clicks and by the data layer, and reports to Google Analytics and Tag Manager."""

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment
from tests.waiting import wait_until

LAYER = "<script>window.dataLayer = [];function gtag() { dataLayer.push(arguments) }EARLY</script>"


def test_clicks_of_goals_are_recorded(site: Site, page: Page) -> None:
    site.config = a_config(clicks=["#buy", "h1[", ".other"])
    site.pages["/"] = a_page('<a id="buy" href="#there"><b>Buy</b></a><p>Text</p>', head=site.tag())
    page.goto(f"{site.base}/")
    page.click("p")
    page.click("#buy b")
    wait_until(lambda: site.events("click"))
    assert [event["selector"] for event in site.events("click")] == ["#buy"]


def test_analytics_and_tag_manager_are_told_of_the_experience(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(), integrations={"ga4": "G-1", "gtm": True})
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    told = "TL-exp_000001-var_000001b"
    layer = page.evaluate("dataLayer.map((one) => 'event' in one ? one : [...one])")
    assert layer == [
        ["event", "experience_impression", {"exp_variant_string": told, "send_to": "G-1"}],
        {"event": "experience_impression", "exp_variant_string": told},
    ]


def open_with_analytics(site: Site, page: Page, early: str) -> None:
    site.config = a_config(an_experiment(), integrations={"ga4": "G-1", "gtm": True})
    site.pages["/"] = a_page(head=LAYER.replace("EARLY", early) + site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))


def impressions(page: Page) -> list[str]:
    """Where impressions were pushed to, in their order among the consent commands."""
    entries = page.evaluate("dataLayer.map((one) => 'event' in one ? one : [...one])")
    names = [
        ("gtm" if isinstance(one, dict) else "ga4" if one[0] == "event" else " ".join(one[:2]))
        for one in entries
    ]
    assert all("experience_impression" in str(one) for one in entries if "consent" not in str(one))
    return names


def analytics(kind: str, answer: str) -> str:
    return f"gtag('consent', '{kind}', {{ analytics_storage: '{answer}' }});"


@pytest.mark.parametrize("command", [("default", "denied"), ("update", "denied")], ids=" ".join)
def test_impression_waits_for_consent_to_analytics(site: Site, page: Page, command: tuple[str, str]) -> None:
    first = f"consent {command[0]}"
    open_with_analytics(site, page, analytics(*command))
    assert impressions(page) == [first]
    page.evaluate("gtag('consent', 'update', { ad_storage: 'granted' })")
    assert impressions(page) == [first, "consent update"]
    page.evaluate(analytics("update", "granted"))
    assert impressions(page) == [first, "consent update", "consent update", "ga4", "gtm"]


def test_impression_is_pushed_once_analytics_are_granted(site: Site, page: Page) -> None:
    open_with_analytics(site, page, analytics("default", "denied") + analytics("update", "granted"))
    assert impressions(page) == ["consent default", "consent update", "ga4", "gtm"]
    page.evaluate(analytics("update", "granted"))
    assert impressions(page)[-1] == "consent update"


def test_impression_of_a_visitor_who_withdraws_is_never_pushed(site: Site, page: Page) -> None:
    open_with_analytics(site, page, analytics("default", "denied"))
    page.evaluate("truelift.consent(false)")
    page.evaluate(analytics("update", "granted"))
    assert impressions(page) == ["consent default", "consent update"]


@pytest.mark.parametrize(
    ("switch", "pushed"),
    [
        ("window['ga-disable-G-1'] = true;", []),
        ("window['ga-disable-G-2'] = true;", ["ga4"]),
        ("window['ga-disable-G-1'] = false;", ["ga4", "gtm"]),
    ],
)
def test_opt_out_of_google_analytics_holds(site: Site, page: Page, switch: str, pushed: list[str]) -> None:
    open_with_analytics(site, page, switch)
    assert impressions(page) == pushed


def test_events_of_the_data_layer_are_recorded(site: Site, page: Page) -> None:
    site.config = a_config(ga4_events=[{"event_name": "purchase", "value_param": "value"}])
    early = LAYER.replace("EARLY", "gtag('event', 'purchase', { value: 1.5 })")
    site.pages["/"] = a_page(head=early + site.tag())
    page.goto(f"{site.base}/")
    page.evaluate("gtag('event', 'purchase', { value: '2' })")
    page.evaluate("dataLayer.push({ event: 'purchase', ecommerce: { value: 3 } }, { event: 'other' })")
    page.evaluate("dataLayer.push({ event: 'purchase' })")
    wait_until(lambda: len(site.events("ga4_event")) == 4)
    assert [event.get("value") for event in site.events("ga4_event")] == [1.5, 2, 3, None]
    assert page.evaluate("dataLayer.length") == 5


def test_variants_of_the_server_are_shown_where_it_covers_the_page(site: Site, page: Page) -> None:
    experiments = [
        an_experiment(number=number, decided_by_server=True, pages=None, custom_css=css)
        for number, css in ((1, "h1 { color: rgb(0, 128, 0) }"), (2, "h1 { display: none }"))
    ]
    site.config = a_config(*experiments)
    site.init = lambda visit: {
        "assignments": [
            {
                "experiment_id": experiment["id"],
                "variant_id": experiment["variants"][1]["id"],
                "covers_page": experiment is experiments[0] and visit["url"] == f"{site.base}/",
                "redirect_url": None,
            }
            for experiment in experiments
        ]
    }
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001"]
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 128, 0)"
