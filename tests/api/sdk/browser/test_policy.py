"""A page with a strict policy: no inline script but the stub, no styles, Trusted Types required."""

import base64
import hashlib

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

CHANGES = [
    a_change("modify_html", "<i>New</i>"),
    a_change("modify_style", "color: rgb(0, 128, 0)"),
    a_change("modify_attribute", "style=margin-left: 7px"),
    a_change("insert_after", "<p class='added'>Added</p>"),
    a_change("remove", "", "h2"),
]


def strict_policy(site: Site) -> str:
    stub = base64.b64encode(hashlib.sha256(site.stub.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src {site.service} 'sha256-{stub}'; connect-src {site.service};"
        " style-src 'none'; require-trusted-types-for 'script'; trusted-types truelift"
    )


def test_preview_works_under_a_strict_policy(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(thresholds=[2**32, 2**32], changes=CHANGES))
    site.pages["/"] = a_page("<h1>Original</h1><h2>Second</h2>", head=site.tag())
    site.page_headers["Content-Security-Policy"] = strict_policy(site)
    page.goto(f"{site.base}/?truelift_preview=exp_000001:var_000001b")
    wait_until(lambda: page.locator("truelift-preview").count() == 1)
    assert page.inner_html("h1") == "<i>New</i>"
    # The page gets no policy that makes HTML of any text.
    assert page.evaluate("truelift.preview") is None


def test_everything_works_under_a_strict_policy(site: Site, page: Page) -> None:
    site.files["/sdk/v1/pk_test/exp_000001.js"] = "window.ran = 1"
    experiment = an_experiment(
        changes=CHANGES, custom_css=".added { color: rgb(0, 0, 255) }", custom_js="exp_000001.js?v=1"
    )
    site.config = a_config(experiment)
    site.pages["/"] = a_page("<h1>Original</h1><h2>Second</h2>", head=site.tag())
    site.page_headers["Content-Security-Policy"] = strict_policy(site)
    page.add_init_script(
        "window.violations = [];"
        "document.addEventListener('securitypolicyviolation',"
        " (event) => violations.push(event.violatedDirective))"
    )
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure") and page.evaluate("window.ran"))
    assert page.inner_html("h1") == "<i>New</i>"
    style = "(name) => ({ ...getComputedStyle(document.querySelector(name)) })"
    heading = page.evaluate(f"({style})('h1')")
    assert (heading["color"], heading["marginLeft"]) == ("rgb(0, 128, 0)", "7px")
    assert page.evaluate(f"({style})('.added')")["color"] == "rgb(0, 0, 255)"
    assert page.evaluate(f"({style})('h2')")["display"] == "none"
    # What the tests themselves, or an icon, may violate is no concern of the script's.
    assert [one for one in page.evaluate("violations") if not one.startswith(("img", "default"))] == []
