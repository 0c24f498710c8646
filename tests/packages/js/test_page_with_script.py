"""The client of a page, in Chromium, with the site's own script: one visitor, one exposure and one outbox."""

from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.packages.js.installed import Installed
from tests.packages.js.pages import KEPT, NAMED, a_flag, begin, open_page
from tests.waiting import wait_until


def test_visitor_and_variant_are_those_of_the_script_on_other_pages(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(an_experiment())
    open_page(site, page, package)
    begin(page)
    page.evaluate("client.variant('test-1')")
    wait_until(lambda: not page.evaluate(KEPT))
    visitor = page.evaluate("client.visitorId")
    # Nobody new takes part now.
    site.config["experiments"][0]["traffic"] = 0
    site.pages["/tagged"] = a_page(head=site.tag())
    page.goto(f"{site.base}/tagged")
    assert page.evaluate("truelift.variant('test-1').index") == 1
    wait_until(lambda: len(site.events("exposure")) == 2)
    assert {event["visitor_id"] for event in site.received} == {visitor}


def test_with_the_site_s_script_on_the_page_there_is_one_exposure_and_one_outbox(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(
        a_flag(changes=[a_change("modify_text", "New")]), a_flag(number=2, trigger="manual")
    )
    open_page(site, page, package, head=site.tag())
    begin(page)
    page.evaluate(
        """() => {
          window.changes = 0;
          client.subscribe(() => changes++);
          window.shown = ["test-1", "test-2"].map((key) => client.peek(key));
        }"""
    )
    wait_until(lambda: not page.evaluate(KEPT))
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001"]
    assert page.evaluate("shown.map(({ name, payload }) => ({ name, payload }))") == [NAMED, NAMED]
    assert page.evaluate("client.peek('test-2') === shown[1]")
    page.evaluate("client.variant('test-2'); client.track('signup'); client.identify('u1', { plan: 'pro' })")
    assert page.evaluate("changes") > 0
    wait_until(lambda: site.events("identify") and site.events("custom_event"))
    wait_until(lambda: not page.evaluate(KEPT))
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001", "exp_000002"]
    assert len({event["visitor_id"] for event in site.received}) == 1
    assert page.evaluate("client.visitorId") == site.received[0]["visitor_id"]
    assert not [path for _, path, _ in site.requests if "/sdk/config" in path]
    # What is said before the script is there waits for it.
    page.evaluate("client.consent(false)")
    assert page.evaluate("client.peek('test-2')") is None


def test_what_is_called_before_the_script_has_loaded_waits_for_it(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag())
    site.blocking = ""
    site.stub = ""
    open_page(site, page, package)
    source = f"{site.service}/sdk/v1/{KEY}.js"
    page.evaluate(
        f"""() => {{
          const tag = Object.assign(document.createElement("script"), {{ src: "{source}", async: true }});
          tag.id = "truelift";
          // The original may be seen first.
          tag.dataset.timeout = "0";
          document.head.append(tag);
          window.client = make({{}});
          client.track("early");
          window.before = client.peek("test-1");
        }}"""
    )
    page.evaluate("client.ready")
    wait_until(lambda: site.events("custom_event"))
    assert page.evaluate("before") is None
    assert page.evaluate("client.peek('test-1').index") == 1
