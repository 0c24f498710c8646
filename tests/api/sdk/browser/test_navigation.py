"""Navigation within a page, through its history, and before it is shown."""

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

HERE = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
NO_NAVIGATION = "delete window.navigation; Object.defineProperty(window, 'navigation', { value: undefined })"

IS_SENT = "Object.keys(localStorage).every((name) => !name.includes('_q.'))"


def open_page(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(pages=HERE, changes=[a_change("modify_text", "Changed")]))
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    assert page.inner_text("h1") == "Changed"


def paths(site: Site) -> list[str]:
    return [event["url"].removeprefix(site.base) for event in site.events("pageview")]


@pytest.mark.parametrize("script", ["", NO_NAVIGATION], ids=["navigation-api", "history"])
def test_experiment_follows_the_address(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    open_page(site, page)
    assert page.evaluate("Boolean(window.navigation)") == (not script)
    page.evaluate("history.pushState(null, '', '/next')")
    wait_until(lambda: page.inner_text("h1") == "Original")
    page.evaluate("history.replaceState(null, '', '/')")
    wait_until(lambda: page.inner_text("h1") == "Changed")
    page.evaluate("history.pushState(null, '', '/next')")
    wait_until(lambda: page.inner_text("h1") == "Original")
    page.evaluate("history.back()")
    wait_until(lambda: page.inner_text("h1") == "Changed")
    wait_until(lambda: paths(site) == ["/", "/next", "/", "/next", "/"])
    assert len(site.events("exposure")) == 1


def test_place_in_a_page_is_no_new_page_but_a_route_is(site: Site, page: Page) -> None:
    open_page(site, page)
    page.evaluate("location.hash = 'details'")
    page.evaluate("location.hash = '#/route'")
    wait_until(lambda: len(paths(site)) == 2)
    assert paths(site) == ["/", "/#/route"]


# What a browser does with a page that it prerenders, which the driver of these tests cannot let it do.
PRERENDERED = """
Object.defineProperty(Document.prototype, "prerendering", { get: () => !window.isShown, configurable: true });
window.showPage = () => {
  window.isShown = true;
  document.dispatchEvent(new Event("prerenderingchange"));
};
"""


def test_prerendered_page_is_changed_at_once_and_counted_when_shown(site: Site, page: Page) -> None:
    page.add_init_script(PRERENDERED)
    open_page(site, page)
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0
    assert not any("/sdk/track" in path for _, path, _ in site.requests)
    page.evaluate("window.showPage()")
    wait_until(lambda: site.events("exposure") and paths(site) == ["/"])
    assert len(page.context.cookies()) == 2


def test_prerendered_page_redirects_when_shown(site: Site, page: Page) -> None:
    page.add_init_script(PRERENDERED)
    changes = [a_change("replace", "/b", "html")]
    site.config = a_config(an_experiment(type="redirect", pages=HERE, changes=changes))
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/b"] = a_page("<h1>Target</h1>")
    page.goto(f"{site.base}/")
    assert page.url == f"{site.base}/"
    assert page.evaluate("getComputedStyle(document.documentElement).visibility") == "hidden"
    page.evaluate("window.showPage()")
    page.wait_for_url("**/b")
    wait_until(lambda: site.events("exposure"))


# Ways in which a router shows the next page, with what it does in the frame after.
ROUTERS = {
    "before the address": "render(); history.pushState(null, '', path)",
    "after the address": "history.pushState(null, '', path); render()",
    "in a microtask": "history.pushState(null, '', path); queueMicrotask(render)",
    "in a frame": "history.pushState(null, '', path); requestAnimationFrame(render)",
    "by the Navigation API": "navigation.navigate(path, { info: 1 })",
}


def test_next_route_is_changed_before_it_is_painted(site: Site, page: Page) -> None:
    on_b = {"include": [{"match_type": "exact", "value": "/b"}], "exclude": []}
    site.config = a_config(an_experiment(pages=on_b, changes=[a_change("modify_text", "New")]))
    site.pages["/"] = a_page("<main></main>", head=site.tag())
    for name, way in ROUTERS.items():
        page.goto(f"{site.base}/")
        shown = page.evaluate(
            f"""async () => {{
              const shown = [];
              let path = "/";
              const main = document.querySelector("main");
              const render = () => {{ main.innerHTML = `<h1>Page ${{path}}</h1>`; }};
              navigation.addEventListener("navigate", (event) => {{
                if (event.info) event.intercept({{ handler: async () => render() }});
              }});
              for (let turn = 0; turn < 20; turn++) {{
                path = turn % 2 ? "/" : "/b";
                {way};
                // After the callbacks of this frame, which its painting follows.
                await new Promise((done) => requestAnimationFrame(() => queueMicrotask(done)));
                shown.push(document.querySelector("h1").textContent);
                await new Promise((done) => setTimeout(done, 20));
              }}
              return shown;
            }}"""
        )
        assert shown == ["New", "Page /"] * 10, name


@pytest.mark.parametrize("script", ["", NO_NAVIGATION], ids=["navigation-api", "history"])
def test_code_of_a_route_has_its_variant_and_is_counted_at_once(site: Site, page: Page, script: str) -> None:
    page.add_init_script(script)
    here = {"include": [{"match_type": "exact", "value": "/route"}], "exclude": []}
    asked = an_experiment(number=1, pages=here, trigger="manual")
    shown = an_experiment(number=2, pages=here, changes=[a_change("modify_text", "Changed")])
    left = an_experiment(number=3, pages=HERE, trigger="manual")
    site.config = a_config(asked, shown, left)
    site.pages["/"] = a_page(head=site.tag())
    page.goto(f"{site.base}/")
    assert page.evaluate("truelift.variant('test-1')") is None
    assert page.evaluate("truelift.variant('test-3').index") == 1
    route = "history.pushState(null, '', '/route'); truelift.track('view');"
    asks = "[truelift.variant('test-1')?.index, truelift.variant('test-3')]"
    # In the task of the navigation.
    assert page.evaluate(f"() => {{ {route} return {asks} }}") == [1, None]
    wait_until(lambda: page.inner_text("h1") == "Changed")
    wait_until(lambda: site.events("custom_event") and len(site.events("exposure")) == 3)
    (view,) = site.events("custom_event")
    exposed = {event["experiment_id"]: event["timestamp"] for event in site.events("exposure")}
    assert exposed["exp_000002"] <= view["timestamp"]
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: page.inner_text("h1") == "Original")
