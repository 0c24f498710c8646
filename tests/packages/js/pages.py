"""Pages that load the package's modules in Chromium."""

from typing import Any

from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_page, an_experiment
from tests.packages.js.installed import Installed

KEPT = "JSON.stringify(localStorage).includes('event_id')"
NAMED = {"name": "One page", "payload": {"steps": 1}}


def a_flag(**fields: Any) -> dict[str, Any]:
    """An experiment whose second variant, everybody's, has a public name and payload."""
    experiment = an_experiment(**fields)
    experiment["variants"][1] |= NAMED
    return experiment


def open_page(site: Site, page: Page, package: Installed, *, head: str = "", path: str = "/") -> None:
    """Open a page with the package's modules: `js` and `make(options)`."""
    site.files = site.files | {f"/js/{name}": text for name, text in package.files.items()}
    module = f"""<script type="module">
      import * as js from "/js/index.js";
      window.failures = [];
      const onError = (one) => failures.push(one.message);
      const common = {{ sdkKey: "{KEY}", baseUrl: "{site.service}", onError }};
      window.make = (options) => js.createClient({{ ...common, ...options }});
    </script>"""
    site.pages[path] = a_page(head=head + module)
    page.goto(f"{site.base}{path}")
    page.wait_for_function("Boolean(window.make)")


def begin(page: Page, **options: Any) -> None:
    page.evaluate(
        "(options) => { window.client = make(options); return client.ready }",
        options,
    )
