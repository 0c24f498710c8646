"""Changes on pages of frameworks: none loses a node, shows stale text, or fails, and each is undone."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.api.sdk.browser.test_build import NODE
from tests.examples import in_shares
from tests.waiting import wait_until

FRAMEWORKS = Path(__file__).parent / "frameworks"
CLIENTS = ["react18", "react19", "vue", "svelte", "web_components"]
# Each action that adds or takes nodes, on elements that a framework updates.
CHANGES = [
    a_change("modify_text", "New title", "h1"),
    a_change("modify_html", "<i>Sale</i>", ".price"),
    a_change("replace", "<section class=new>Ours</section>", ".box"),
    a_change("insert_after", "<p class=ours>Inserted</p>", ".after"),
    a_change("insert_inside", "<li class=added>Added</li>", "ul"),
    a_change("modify_text", "Sold", "li.sale"),
    a_change("modify_html", "<u>Filled</u>", ".fill"),
    a_change("modify_text", "Order", "button"),
]
HOME = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert (FRAMEWORKS / "node_modules").is_dir(), "needs the packages of the frameworks: make snippet-tools"
    output = tmp_path_factory.mktemp("frameworks")
    subprocess.run([NODE, FRAMEWORKS / "build.mjs", output], check=True, timeout=120)
    return output


def open_app(site: Site, page: Page, bundle: Path, *, html: str = "", changes: Any = None) -> None:
    experiment = an_experiment(changes=CHANGES if changes is None else changes, pages=HOME)
    site.config = a_config(experiment)
    site.files["/app.js"] = bundle.read_text()
    root = f'<div id="root">{html}</div><script src="/app.js"></script>'
    site.pages["/"] = a_page(root, head=site.tag())
    page.goto(f"{site.base}/")
    page.evaluate("truelift.on('error', (error) => failures.push(JSON.stringify(error)))")


def leave(page: Page) -> None:
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: page.locator(".ours").count() == 0)


def test_pages_without_changes_show_what_is_expected_of_them(site: Site, page: Page, bundles: Path) -> None:
    for name in CLIENTS:
        open_app(site, page, bundles / f"{name}.js", changes=[])
        assert (name, page.evaluate("update(1, 20, false)")) == (name, [])


@pytest.mark.parametrize(
    "name", ["react19", "vue", *in_shares("react18", "svelte", "web_components", seconds=1)]
)
def test_changes_hold_over_two_hundred_updates_and_are_undone(
    site: Site, page: Page, bundles: Path, name: str
) -> None:
    open_app(site, page, bundles / f"{name}.js")
    assert page.evaluate("update(1, 200, true)") == []
    page.click("button")
    assert page.evaluate("clicks") == 1
    leave(page)
    assert page.evaluate("update(2, 20, false)") == []
    page.evaluate("history.back()")
    wait_until(lambda: page.text_content("h1") == "New title")
    assert page.evaluate("update(3, 20, true)") == []
    assert page.evaluate("failures") == []


@pytest.mark.parametrize("name", ["react19", *in_shares("react18", "vue", seconds=1)])
def test_pages_of_a_server_are_hydrated_with_their_own_nodes(
    site: Site, page: Page, bundles: Path, name: str
) -> None:
    # What React compares with the text of an element, it renders anew: without an error to the visitor.
    changes = [one for one in CHANGES if one["action"] != "modify_text"]
    html = (bundles / f"{name}.html").read_text()
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => (window.served = root.querySelector('li')))"
    )
    open_app(site, page, bundles / f"{name}.js", html=html, changes=changes)
    assert page.text_content(".price") == "Sale"
    leave(page)
    assert page.evaluate("served === root.querySelector('li')")
    assert page.evaluate("update(1, 20, false)") == []
    assert page.evaluate("failures") == []


@pytest.mark.parametrize("name", ["react19", *in_shares("react18", "vue", seconds=1)])
def test_hydrated_pages_hold_every_change(site: Site, page: Page, bundles: Path, name: str) -> None:
    open_app(site, page, bundles / f"{name}.js", html=(bundles / f"{name}.html").read_text())
    page.evaluate("failures.length = 0")
    assert page.evaluate("update(1, 200, true)") == []
    leave(page)
    assert page.evaluate("update(2, 20, false)") == []
    assert page.evaluate("failures") == []


def test_pages_that_htmx_and_turbo_replace_are_changed_each_time(
    site: Site, page: Page, bundles: Path
) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "New")]))
    for name in ("htmx", "turbo"):
        site.files[f"/{name}.js"] = (bundles / f"{name}.js").read_text()
    # Read as the task that put it there ends, and so before it is painted.
    watch = """<script>
      window.shown = [];
      new MutationObserver(() => shown.push(document.querySelector("h1").textContent))
        .observe(document, { childList: true, subtree: true });
    </script>"""
    head = f'{watch}<script src="/htmx.js"></script>{site.tag()}'
    site.files["/part"] = "<h1>Original</h1>"
    site.pages["/htmx"] = a_page(
        '<div id="part"></div><a hx-get="/part" hx-target="#part">Next</a>', head=head
    )
    page.goto(f"{site.base}/htmx")
    for number in range(1, 6):
        page.click("a")
        wait_until(lambda: page.evaluate("shown.length") >= number)  # noqa: B023 - waited for in this turn
        page.wait_for_function("document.querySelector('h1')?.textContent === 'New'")
    for path, other in (("/a", "/b"), ("/b", "/a")):
        turbo = f'<script src="/turbo.js"></script>{site.tag()}'
        site.pages[path] = a_page(f'<h1>Page {path}</h1><a href="{other}">Other</a>', head=turbo)
    page.goto(f"{site.base}/a")
    page.evaluate("window.isSame = true")
    for path in ("/b", "/a", "/b"):
        page.click("a")
        page.wait_for_url(f"**{path}")
        page.wait_for_function("document.querySelector('h1')?.textContent === 'New'")
    assert page.evaluate("isSame")


def test_three_thousand_rows_are_changed_alike(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "New", "li")]))
    site.pages["/"] = a_page("<ul></ul>", head=site.tag())
    page.goto(f"{site.base}/")
    page.evaluate("truelift.on('error', (error) => (window.told = error))")
    for turn in range(3):
        page.evaluate(f"document.querySelector('ul').innerHTML = '<li>Old {turn}</li>'.repeat(3000)")
        texts = page.evaluate("[...document.querySelectorAll('li')].map((row) => row.textContent)")
        assert texts == ["New"] * 3000
    assert page.evaluate("window.told") is None
