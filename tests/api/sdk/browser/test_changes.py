"""Changes of elements: made before they are seen, to those that come later, again, and undone."""

import threading
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

BODY = '<main><h1 class="old" title="first">Original</h1></main>'
# What a visitor of the page can tell of each part of it.
STATES = """() => [...document.querySelectorAll("main")].map((main) => {
  const heading = main.querySelector("h1");
  const style = heading && getComputedStyle(heading);
  return {
    html: main.innerHTML.replaceAll(' style=""', ""),
    color: style && style.color,
    display: style && style.display,
  };
})"""


@dataclass(frozen=True)
class Case:
    action: str
    value: str
    html: str
    color: str = "rgb(0, 0, 0)"
    display: str = "block"

    @property
    def state(self) -> dict[str, Any]:
        if "<h1" not in self.html:
            return {"html": self.html, "color": None, "display": None}
        return {"html": self.html, "color": self.color, "display": self.display}


H1 = '<h1 class="old" title="first">Original</h1>'
ORIGINAL = Case("", "", H1)
CASES = [
    Case("modify_text", "New <b>", '<h1 class="old" title="first">New &lt;b&gt;</h1>'),
    Case("modify_html", "<i>New</i> text", '<h1 class="old" title="first"><i>New</i> text</h1>'),
    Case("modify_attribute", "title=a=b", '<h1 class="old" title="a=b">Original</h1>'),
    Case("modify_attribute", "title", '<h1 class="old">Original</h1>'),
    Case("modify_style", "color: rgb(0, 128, 0)", H1, color="rgb(0, 128, 0)"),
    Case("modify_class", "new +-added -old", '<h1 class="new -added" title="first">Original</h1>'),
    Case("remove", "", H1, display="none"),
    Case("insert_before", "<p>1</p><p>2</p>", f"<p>1</p><p>2</p>{H1}"),
    Case("insert_after", "<p>1</p><p>2</p>", f"{H1}<p>1</p><p>2</p>"),
    Case("insert_inside", "<p>1</p>", '<h1 class="old" title="first">Original<p>1</p></h1>'),
    Case(
        "replace",
        "<h2>New</h2><p>1</p>",
        '<h1 class="old" title="first" data-truelift="">Original</h1><h2>New</h2><p>1</p>',
        display="none",
    ),
]
# A part of the page for each case.
PARTS = "".join(f"<main id='part{number}'></main>" for number in range(len(CASES)))
CHANGES = [a_change(case.action, case.value, f"#part{number} h1") for number, case in enumerate(CASES)]


def open_page(site: Site, page: Page, *changes: dict[str, str], body: str = BODY, **fields: Any) -> None:
    pages = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
    site.config = a_config(an_experiment(changes=list(changes), pages=pages, **fields))
    site.pages["/"] = a_page(body, head=site.tag())
    page.goto(f"{site.base}/")


def states(page: Page) -> Any:
    return page.evaluate(STATES)


def test_change_is_made_to_an_element_undone_and_made_again(site: Site, page: Page) -> None:
    changed = [case.state for case in CASES]
    open_page(site, page, *CHANGES, body=PARTS.replace("></main>", f">{H1}</main>"))
    assert states(page) == changed
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: states(page) == [ORIGINAL.state] * len(CASES))
    page.evaluate("history.back()")
    wait_until(lambda: states(page) == changed)


def test_change_is_made_to_elements_that_come_later_or_are_rendered_anew(site: Site, page: Page) -> None:
    open_page(site, page, *CHANGES, body=PARTS)
    # Before the next frame, and so unseen.
    shown = page.evaluate(
        f"""async (html) => {{
          const shown = [];
          for (let time = 0; time < 3; time++) {{
            for (const main of document.querySelectorAll("main")) main.innerHTML = html;
            await null;
            shown.push(({STATES})());
          }}
          return shown;
        }}""",
        H1,
    )
    assert shown == [[case.state for case in CASES]] * 3


# A change, what a page does against it, and whether it is made all the same.
REVERTED = [
    (a_change("modify_text", "New"), "h1.replaceChildren('Original')", "h1.textContent === 'New'"),
    (a_change("modify_html", "<i>New</i>"), "h1.innerHTML = 'Original'", "h1.innerHTML === '<i>New</i>'"),
    (a_change("modify_attribute", "title=new"), "h1.title = 'first'", "h1.title === 'new'"),
    (a_change("modify_class", "new"), "h1.className = 'old'", "h1.classList.contains('new')"),
    (
        a_change("insert_after", "<p>1</p>"),
        "document.querySelector('p').remove()",
        "document.querySelector('p') !== null",
    ),
]


def test_reverted_change_is_made_ten_times_again_and_then_given_up(site: Site, page: Page) -> None:
    for change, revert, kept in REVERTED:
        open_page(site, page, change)
        page.evaluate("truelift.on('error', (error) => (window.told = error))")
        held = page.evaluate(
            f"""async () => {{
              const h1 = document.querySelector("h1");
              const held = [];
              for (let time = 0; time < 12; time++) {{
                try {{ {revert}; }} catch {{}}
                await null;
                held.push({kept});
              }}
              return held;
            }}"""
        )
        assert held == [True] * 10 + [False] * 2, change
        told = page.evaluate("window.told")
        assert told["experiment_id"] == "exp_000001"
        assert told["change"]["action"] == change["action"]


def test_page_that_makes_new_elements_for_ever_does_not_hang(site: Site, page: Page) -> None:
    open_page(site, page, a_change("modify_text", "New"))
    page.evaluate(
        """() => {
          const main = document.querySelector("main");
          new MutationObserver(() => {
            if (main.textContent !== "Original") main.innerHTML = "<h1>Original</h1>";
          }).observe(main, { subtree: true, childList: true, characterData: true });
          main.innerHTML = "<h1>Again</h1>";
        }"""
    )
    assert page.inner_text("h1") == "Original"


@pytest.mark.parametrize("action", ["modify_text", "modify_html"])
def test_text_that_the_parser_adds_to_a_changed_element_is_not_shown(
    site: Site, page: Page, action: str
) -> None:
    experiment = an_experiment(changes=[a_change(action, "Changed")])
    experiment["pages"]["include"] = [{"match_type": "exact", "value": "/"}]
    site.config = a_config(experiment)
    # The parser adds to the text node before its place, as these scripts do while the page is loading.
    site.files["/more.js"] = "document.querySelector('h1').lastChild.appendData('inal')"
    site.gates["/more.js"] = threading.Event()
    script = "<script src='/more.js'></script>"
    site.pages["/"] = a_page(f"<h1>Orig</h1>{script}", head=site.tag())
    page.goto(f"{site.base}/", wait_until="commit")
    wait_until(lambda: site.events("exposure"))
    assert page.inner_text("h1") == "Changed"
    site.gates["/more.js"].set()
    page.wait_for_load_state()
    assert page.inner_text("h1") == "Changed"
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: page.inner_text("h1") == "Original")


def test_text_of_a_framework_keeps_its_node(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "New")]))
    site.pages["/"] = a_page(
        "<h1>Original</h1><script>window.node = document.querySelector('h1').firstChild</script>",
        head=site.tag(),
    )
    page.goto(f"{site.base}/")
    wait_until(lambda: page.inner_text("h1") == "New")
    assert page.evaluate("document.querySelector('h1').firstChild === window.node")


def test_inserted_html_that_matches_its_own_selector_is_inserted_once(site: Site, page: Page) -> None:
    open_page(site, page, a_change("insert_after", "<h1>Second</h1>"))
    page.evaluate("document.body.append(document.createElement('p'))")
    assert page.inner_html("main") == f"{H1}<h1>Second</h1>"


@pytest.mark.parametrize("action", ["insert_before", "insert_after"])
def test_inserted_html_goes_with_an_element_that_the_page_moves(site: Site, page: Page, action: str) -> None:
    items = "".join(f"<li>{number}</li>" for number in range(3))
    open_page(site, page, a_change(action, "<hr><i>!</i>", "li"), body=f"<ul>{items}</ul>")
    page.evaluate(
        "() => { const ul = document.querySelector('ul'); ul.prepend(ul.querySelector('li:last-of-type')); }"
    )
    own = "<hr><i>!</i>{}" if action == "insert_before" else "{}<hr><i>!</i>"
    moved = "".join(own.format(f"<li>{number}</li>") for number in (2, 0, 1))
    wait_until(lambda: page.inner_html("ul") == moved)
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: page.inner_html("ul") == "<li>2</li><li>0</li><li>1</li>")


def test_bad_selector_is_told_and_does_not_stop_the_others(site: Site, page: Page) -> None:
    open_page(site, page, a_change("modify_text", "x", "h1["), a_change("modify_text", "New"))
    page.evaluate("truelift.on('error', (error) => (window.told = error))")
    assert page.inner_text("h1") == "New"
    assert page.evaluate("window.told.change.selector") == "h1["


def test_scripts_in_html_do_not_run(site: Site, page: Page) -> None:
    open_page(site, page, a_change("insert_inside", "<script>window.ran = 1</script>"))
    assert page.locator("h1 script").count() == 1
    assert page.evaluate("window.ran") is None


def test_control_is_left_as_it_is(site: Site, page: Page) -> None:
    open_page(
        site,
        page,
        a_change("modify_text", "New"),
        thresholds=[2**32, 2**32],
        custom_css="h1 { color: red }",
    )
    assert states(page) == [ORIGINAL.state]


def test_custom_code_belongs_to_every_variant_but_the_control(site: Site, page: Page) -> None:
    site.files["/sdk/v1/pk_test/exp_000001.js"] = "window.ran = (window.ran || 0) + 1"
    open_page(site, page, custom_css="h1 { color: rgb(0, 128, 0) }", custom_js="exp_000001.js?v=1")
    wait_until(lambda: page.evaluate("window.ran") == 1)
    assert states(page)[0]["color"] == "rgb(0, 128, 0)"


def test_style_outlives_a_page_that_assigns_its_own_sheets(site: Site, page: Page) -> None:
    open_page(site, page, a_change("modify_style", "color: rgb(0, 128, 0)"))
    page.evaluate(
        """() => {
          document.adoptedStyleSheets = [new CSSStyleSheet()];
          document.querySelector("main").append("rendered");
        }"""
    )
    wait_until(lambda: states(page)[0]["color"] == "rgb(0, 128, 0)")
    assert page.evaluate("document.adoptedStyleSheets.length") == 2
