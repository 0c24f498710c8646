"""A page that adds the script as the container of a tag manager does: by code, once the page has loaded."""

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import Page

from api.installation import tracking_snippet
from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

CONTAINER = """
  const tag = document.createElement("script");
  tag.async = true;
  tag.src = "{source}";
  {more}
  document.head.appendChild(tag);
"""
LOADER = """<script>
  addEventListener("load", () => {
    // Once the page has been painted.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const container = document.createElement("script");
      container.async = true;
      container.src = "/container.js";
      document.head.appendChild(container);
    }));
  });
</script>"""
ORDER = tracking_snippet(cast("Any", SimpleNamespace(revenue_currency="USD")))


def exposed(site: Site) -> list[Any]:
    return [event for event in site.events("exposure") if not event.get("late")]


@pytest.mark.parametrize(("more", "is_late"), [("", True), ("tag.dataset.timeout = '0';", False)])
def test_script_of_a_container_exposes_who_sees_a_variant(
    site: Site, page: Page, more: str, *, is_late: bool
) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "Changed")]))
    source = f"{site.service}/sdk/v1/{KEY}.js"
    site.files["/container.js"] = CONTAINER.replace("{source}", source).replace("{more}", more)
    site.pages["/"] = a_page(head=LOADER + ORDER)
    page.goto(f"{site.base}/")
    # What the page has told before the script came is sent.
    wait_until(lambda: site.events("conversion") and site.events("pageview"))
    assert page.inner_text("h1") == ("Original" if is_late else "Changed")
    assert len(exposed(site)) == (not is_late)
    page.evaluate("history.pushState(null, '', '/route')")
    wait_until(lambda: page.inner_text("h1") == "Changed" and exposed(site))


def test_order_is_sent_that_comes_before_the_script_of_a_lone_tag(site: Site, page: Page) -> None:
    gate = site.gates[f"/sdk/v1/{KEY}.js"] = threading.Event()
    tag = f'<script id="truelift" async src="{site.service}/sdk/v1/{KEY}.js"></script>'
    site.pages["/"] = a_page(ORDER, head=tag)
    page.goto(f"{site.base}/", wait_until="domcontentloaded")
    gate.set()
    wait_until(lambda: site.events("conversion"))
