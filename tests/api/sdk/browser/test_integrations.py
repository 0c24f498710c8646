"""Goals by clicks and by the data layer, and reports to Google Analytics and Tag Manager."""

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
