"""The debug panel shows chosen variants without counting them, and is opened, used and closed."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.api.sdk.browser.debug_shop import Shop, changing, open_panel, sections, text_of
from tests.waiting import wait_until


def test_a_chosen_variant_is_shown_in_this_tab_and_counts_nowhere(shop: Shop, page: Page) -> None:
    shop.start("Shown", variants=changing(("h1", "modify_text", "Changed")))
    open_panel(shop, page, shop.token())
    wait_until(lambda: page.inner_text("h1") == "Changed" and shop.counted() == 1)
    kept = page.context.cookies()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.click("truelift-debug summary")
    assert "count nowhere: nothing is sent or stored of them, and they end with the tab" in text_of(page)
    page.click("truelift-debug button:text('Show Control')")
    wait_until(lambda: page.inner_text("h1") == "Original" and any("preview.js" in one for one in sent))
    page.wait_for_selector("truelift-debug summary:text('Shown: Control')")
    assert "Variants are chosen in this tab, and nothing is counted." in text_of(page)
    page.click("a")
    page.wait_for_url("**/next")
    page.wait_for_selector("truelift-debug summary:text('Shown: Control')")
    assert page.context.cookies() == kept
    assert not any("/sdk/track" in one or "/sdk/init" in one for one in sent)
    counted = shop.customer.data_of(f"{shop.project}/experiments/{shop.ids['Shown']}/results")
    (variants,) = counted["variants"].values()
    assert {one["variant_name"]: one["visitors"] for one in variants} == {"Control": 0, "Treatment": 1}
    page.click('truelift-debug button:text("Back to the visitor\'s own variants")')
    page.wait_for_selector("truelift-debug summary:text('Shown: Treatment')")
    assert page.inner_text("h1") == "Changed"
    other = page.context.new_page()
    other.goto(f"{shop.site.base}/")
    wait_until(lambda: other.inner_text("h1") == "Changed")
    assert other.locator("truelift-debug").count() == 0


def test_the_panel_is_accessible_closes_and_opens_again(shop: Shop, page: Page) -> None:
    shop.start("Shown")
    shop.site.page_headers = {}
    open_panel(shop, page, shop.token())
    page.wait_for_selector("truelift-debug summary")
    # By the keyboard alone: the last link of the page, the panel, its button, the first experiment.
    page.focus("a")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("truelift-debug button:text('Show Control')")
    violations = Axe().run(page, {"include": [["truelift-debug"]]}).response["violations"]
    assert [one["id"] for one in violations if one["impact"] in {"serious", "critical"}] == []
    page.keyboard.press("Escape")
    wait_until(lambda: page.locator("truelift-debug").count() == 0)
    page.reload()
    wait_until(lambda: page.evaluate("window.truelift?.loaded"))
    assert page.locator("truelift-debug").count() == 0
    open_panel(shop, page, shop.token(), "/next")
    page.click("truelift-debug button:text('Close')")
    assert page.evaluate("sessionStorage.getItem('truelift_debug')") is None


def test_the_panel_follows_the_address_and_keeps_what_is_open(shop: Shop, page: Page) -> None:
    shop.start("Everywhere")
    shop.start("Sale", url="/sale")
    open_panel(shop, page, shop.token())
    page.click("truelift-debug summary:text('Sale: out')")
    page.evaluate("history.pushState(null, '', '/sale?size=1')")
    page.wait_for_selector("truelift-debug details[open] summary:text('Sale: Treatment')")
    assert page.locator("truelift-debug details[open]").count() == 1
    page.evaluate("document.body.remove(); document.documentElement.append(document.createElement('body'))")
    page.wait_for_selector("truelift-debug summary:text('Sale: Treatment')")


def test_a_service_out_of_reach_is_said(shop: Shop, page: Page) -> None:
    shop.start("Shown")
    page.route("**/api/v1/sdk/*", lambda route: route.abort())
    page.goto(f"{shop.site.base}/#truelift_debug={shop.token()}")
    base = str(shop.customer.client.base_url).rstrip("/")
    page.wait_for_selector("truelift-debug h2")
    wait_until(lambda: f"The service does not answer this page at {base}." in text_of(page))
    assert sections(page).keys() == {"shown: variant 1"}


def test_a_draft_is_shown_by_choice(shop: Shop, page: Page) -> None:
    path = shop.customer.an_experiment(
        shop.project, name="Draft", url="/", variants=changing(("h1", "modify_text", "Drafted"))
    )
    open_panel(shop, page, shop.token())
    page.click("truelift-debug summary:text('Draft: out')")
    assert "Out: the experiment is draft" in sections(page)["Draft: out"]
    page.click("truelift-debug button:text('Show Treatment')")
    page.wait_for_selector("truelift-debug summary:text('Draft: Treatment')")
    wait_until(lambda: page.inner_text("h1") == "Drafted")
    # The end of the panel is that of the choice.
    page.focus("truelift-debug button")
    page.keyboard.press("Escape")
    wait_until(lambda: page.locator("truelift-debug").count() == 0 and page.inner_text("h1") == "Original")
    assert page.evaluate("sessionStorage.getItem('truelift_preview')") is None
    assert shop.counted() <= 1
    assert shop.customer.data_of(path)["status"] == "draft"
