"""A page that adds the script as the container of a tag manager does: by code, once the page has loaded."""

from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

CONTAINER = """
  const tag = document.createElement("script");
  tag.async = true;
  tag.src = "{source}";
  document.head.appendChild(tag);
"""
QUEUE = (
    "window.truelift = window.truelift || function () { (truelift.q = truelift.q || []).push(arguments); }"
)
LOADER = """
  addEventListener("load", () => {
    const container = document.createElement("script");
    container.async = true;
    container.src = "/container.js";
    document.head.appendChild(container);
  });
"""


def test_script_of_a_container_counts_alike_what_it_shows_and_the_next_route(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "Changed")]))
    site.files["/container.js"] = CONTAINER.replace("{source}", f"{site.service}/sdk/v1/{KEY}.js")
    ordered = "truelift('convert', { event_name: 'purchase', revenue_cents: 1999 })"
    site.pages["/"] = a_page(head=f"<script>{LOADER} {QUEUE}; {ordered}</script>")
    page.goto(f"{site.base}/")
    # What the page has told before the script came is sent.
    wait_until(lambda: site.events("conversion") and site.events("pageview"))
    counted = [event for event in site.events("exposure") if not event.get("late")]
    assert (page.inner_text("h1") == "Changed") == bool(counted)
    page.evaluate("history.pushState(null, '', '/route')")
    wait_until(lambda: page.inner_text("h1") == "Changed")
    wait_until(lambda: [event for event in site.events("exposure") if not event.get("late")])
