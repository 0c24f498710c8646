"""Pages that may store nothing, or whose storage holds something else, have their experiments."""

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

HEADING = "document.querySelector('h1').textContent"
SET = "(text) => { sessionStorage.truelift_redirects = sessionStorage.truelift_referrer = text }"


def with_experiment(site: Site) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "New")]))


def test_sandboxed_frame_has_its_experiments(site: Site, page: Page) -> None:
    with_experiment(site)
    site.pages["/frame"] = a_page(head=site.tag())
    site.pages["/"] = a_page('<iframe sandbox="allow-scripts" src="/frame"></iframe>')
    page.goto(f"{site.base}/")
    frame = page.frames[1]
    wait_until(lambda: frame.evaluate(HEADING) == "New")
    wait_until(lambda: site.events("exposure") and site.events("pageview"))


def test_storage_of_something_else_stops_nothing(site: Site, page: Page) -> None:
    with_experiment(site)
    target = f"{site.base}/other"
    redirect = an_experiment(number=2, type="redirect", changes=[a_change("replace", target)])
    redirect["pages"]["include"][0] = {"match_type": "ends_with", "value": "/"}
    site.config["experiments"].append(redirect)
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/other"] = a_page(head=site.tag())
    site.pages["/before"] = a_page()
    for garbage in ("{", "null", "5", "[]"):
        page.goto(f"{site.base}/before")
        page.evaluate(SET, garbage)
        page.goto(f"{site.base}/")
        page.wait_for_url(target)
        wait_until(lambda: page.evaluate(HEADING) == "New")


def test_cookie_that_the_server_sets_is_left_as_it_is(site: Site, page: Page) -> None:
    """Safari keeps it longer than one of a script."""
    cookies = {"truelift_visitor": "visitor-of-the-server", "truelift_by_server": "1"}
    page.context.add_cookies(
        [{"name": name, "value": value, "url": site.base} for name, value in cookies.items()]
    )
    before = sorted(page.context.cookies(), key=lambda cookie: cookie["name"])
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("pageview"))
    assert site.events("pageview")[0]["visitor_id"] == "visitor-of-the-server"
    assert sorted(page.context.cookies(), key=lambda cookie: cookie["name"]) == before


def test_subdomains_share_the_visitor_and_its_variants(site: Site, page: Page) -> None:
    with_experiment(site)
    site.pages["/"] = a_page(head=site.tag())
    port = site.base.rpartition(":")[2]
    for name in ("shop", "blog"):
        page.goto(f"http://{name}.company.localhost:{port}/")
        wait_until(lambda: page.evaluate(HEADING) == "New")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len({event["visitor_id"] for event in site.events("pageview")}) == 1
    cookies = {cookie["name"]: cookie["domain"] for cookie in page.context.cookies()}
    assert cookies.keys() == {"truelift_visitor", "truelift_assigned"}
    # No wider than that: other sites may not share it.
    assert set(cookies.values()) == {".company.localhost"}


def test_setting_narrows_the_domain_of_cookies(site: Site, page: Page) -> None:
    site.config = a_config(settings={"cookie_domain": "shop.company.localhost"})
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"http://shop.company.localhost:{site.base.rpartition(':')[2]}/")
    wait_until(page.context.cookies)
    assert {cookie["domain"] for cookie in page.context.cookies()} == {".shop.company.localhost"}
