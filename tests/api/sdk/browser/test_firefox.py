"""A second browser engine, which cannot block rendering: the same variants, events and rescues."""

from collections.abc import Iterator

import pytest

from api.sdk.script_files import DEBUG, read_script
from tests.api.sdk.browser.firefox import Firefox, opened_firefox
from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

pytestmark = pytest.mark.long(seconds=9)
# A browser that a program steers says so, and is a bot.
NO_FILTER = {"bot_filtering": False}


@pytest.fixture(scope="module")
def firefox() -> Iterator[Firefox]:
    with opened_firefox() as opened:
        yield opened


def text_of(firefox: Firefox, selector: str) -> object:
    return firefox.evaluate(f"document.querySelector('{selector}').textContent")


def is_shown(firefox: Firefox) -> bool:
    visibility: str = firefox.evaluate("getComputedStyle(document.documentElement).visibility")
    return visibility == "visible"


def test_a_variant_is_shown_and_counted(site: Site, firefox: Firefox) -> None:
    changes = [a_change("modify_text", "Changed"), a_change("modify_style", "color: rgb(0, 128, 0)")]
    site.config = a_config(an_experiment(changes=changes), settings=NO_FILTER)
    site.pages["/"] = a_page(head=site.tag())
    firefox.goto(f"{site.base}/")
    assert text_of(firefox, "h1") == "Changed"
    assert firefox.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 128, 0)"
    assert is_shown(firefox)
    wait_until(lambda: site.events("exposure") and site.events("pageview"))
    assert [event["variant_id"] for event in site.events("exposure")] == ["var_000001b"]


def test_the_page_is_hidden_until_the_script_is_there_and_no_longer(site: Site, firefox: Firefox) -> None:
    site.config = a_config(an_experiment(changes=[a_change("modify_text", "Changed")]), settings=NO_FILTER)
    site.timeout_ms = 400
    early = "<script>window.early = getComputedStyle(document.documentElement).visibility</script>"
    site.pages["/"] = a_page(head=site.tag() + early)
    firefox.goto(f"{site.base}/")
    assert firefox.evaluate("window.early") == "hidden"
    wait_until(lambda: is_shown(firefox))


def test_a_dead_service_leaves_the_original_page(site: Site, firefox: Firefox) -> None:
    site.timeout_ms = 400
    dead = site.tag().replace(site.service, "http://127.0.0.1:9")
    site.pages["/"] = a_page(head=dead)
    firefox.goto(f"{site.base}/")
    wait_until(lambda: is_shown(firefox))
    assert text_of(firefox, "h1") == "Original"
    assert site.events("exposure") == []


def test_a_conversion_at_the_end_of_a_page_arrives(site: Site, firefox: Firefox) -> None:
    site.config = a_config(an_experiment(), settings=NO_FILTER)
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/next"] = a_page("<h1>Next</h1>")
    firefox.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    firefox.evaluate("window.truelift.revenue(4999, {transaction_id: '1001'}), location.assign('/next')")
    wait_until(lambda: site.events("conversion"))
    assert [event["transaction_id"] for event in site.events("conversion")] == ["1001"]


def test_the_debug_panel_opens(site: Site, firefox: Firefox) -> None:
    site.config = a_config(an_experiment(), settings=NO_FILTER)
    site.pages["/"] = a_page(head=site.tag())
    site.files[f"/sdk/v1/{KEY}/debug.js"] = read_script(DEBUG).decode()
    firefox.goto(f"{site.base}/?truelift_debug&size=1")
    panel = "document.querySelector('truelift-debug')?.shadowRoot.querySelector('section').textContent"
    wait_until(lambda: "test-1: variant 1" in str(firefox.evaluate(panel)))
    assert firefox.evaluate("location.search") == "?size=1"
    firefox.evaluate("document.querySelector('truelift-debug').shadowRoot.querySelector('button').click()")
    assert firefox.evaluate("document.querySelector('truelift-debug')") is None
