"""Changes of two experiments to one element: the later is made, and the other once that one ends."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

ORIGINAL = '<h1 class="old" title="first">Original</h1>'
BODY = f"<main>{ORIGINAL}</main>"
SHOWN = "[...document.querySelectorAll('main')].map((main) => main.innerHTML)"


@dataclass(frozen=True)
class Rivals:
    """Two actions, and what the page has with either and with both."""

    first: tuple[str, str]
    second: tuple[str, str]
    with_first: str
    with_second: str
    with_both: str


def heading(content: str = "Original", *, names: str = "old", title: str = "first") -> str:
    return f'<h1 class="{names}" title="{title}">{content}</h1>'


def replaced(tag: str) -> str:
    return f'<h1 class="old" title="first" data-truelift="">Original</h1><{tag}>New</{tag}>'


def of_the_same(action: str, values: tuple[str, str], shown: tuple[str, str]) -> Rivals:
    return Rivals((action, values[0]), (action, values[1]), shown[0], shown[1], shown[1])


CASES = [
    of_the_same("modify_text", ("1", "2"), (heading("1"), heading("2"))),
    of_the_same("modify_attribute", ("title=1", "title=2"), (heading(title="1"), heading(title="2"))),
    of_the_same("modify_class", ("new", "-new"), (heading(names="old new"), heading())),
    of_the_same("replace", ("<h2>New</h2>", "<h3>New</h3>"), (replaced("h2"), replaced("h3"))),
    Rivals(
        ("modify_html", "<i>1</i>"), ("modify_text", "2"), heading("<i>1</i>"), heading("2"), heading("2")
    ),
    Rivals(
        ("modify_class", "new"),
        ("modify_attribute", "class=set"),
        heading(names="old new"),
        heading(names="set"),
        heading(names="set"),
    ),
    # No rivals: what is inserted stays beside a changed text.
    Rivals(
        ("insert_inside", "<b>1</b>"),
        ("modify_text", "2"),
        heading("Original<b>1</b>"),
        heading("2"),
        heading("2<b>1</b>"),
    ),
]


@pytest.mark.parametrize("kept", [0, 1])
def test_the_later_change_is_made_and_each_is_undone_alone(site: Site, page: Page, kept: int) -> None:
    """Each case has a part of the page."""
    experiments = []
    for number in range(2):
        paths = ["/", "/kept"] if number == kept else ["/"]
        pages = {"include": [{"match_type": "exact", "value": path} for path in paths], "exclude": []}
        changes = [
            a_change(*(case.first, case.second)[number], f"#part{part} h1") for part, case in enumerate(CASES)
        ]
        experiments.append(an_experiment(number=number, changes=changes, pages=pages))
    site.config = a_config(*experiments)
    parts = (f"<main id='part{part}'>{ORIGINAL}</main>" for part in range(len(CASES)))
    site.pages["/"] = a_page("".join(parts), head=site.tag())
    page.goto(f"{site.base}/")
    page.evaluate("() => { window.told = []; truelift.on('error', (error) => told.push(error)); }")
    # More often than a change is made again: the page has nothing to do with the headings.
    shown = page.evaluate(
        f"""async () => {{
          const shown = [{SHOWN}];
          for (let time = 0; time < 15; time++) {{
            document.body.append("elsewhere");
            await null;
            shown.push({SHOWN});
          }}
          return shown;
        }}"""
    )
    assert shown == [[case.with_both for case in CASES]] * 16
    assert page.evaluate("told") == []
    alone = [(case.with_first, case.with_second)[kept] for case in CASES]
    for path, expected in (("/kept", alone), ("/other", [ORIGINAL] * len(CASES))):
        page.evaluate(f"history.pushState(null, '', '{path}')")
        wait_until(lambda: page.evaluate(SHOWN) == expected)  # noqa: B023 - called at once


def test_change_that_the_page_drops_in_part_is_made_anew_and_undone(site: Site, page: Page) -> None:
    pages = {"include": [{"match_type": "exact", "value": "/"}], "exclude": []}
    change = a_change("modify_html", "<i>1</i><b>2</b>")
    site.config = a_config(an_experiment(changes=[change], pages=pages))
    site.pages["/"] = a_page(BODY, head=site.tag())
    page.goto(f"{site.base}/")
    page.evaluate("document.querySelector('h1 b').remove()")
    wait_until(lambda: page.evaluate(SHOWN) == [heading("<i>1</i><b>2</b>")])
    page.evaluate("history.pushState(null, '', '/other')")
    wait_until(lambda: page.evaluate(SHOWN) == [ORIGINAL])
