"""The dashboard checks a page of the site in the person's browser, and says in words what is missing."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.api.sdk.browser.debug_shop import Shop, sections
from tests.api.sdk.browser.site import a_page
from tests.waiting import wait_until

ALL_FINE = [
    "Fine: The script was found.",
    "Fine: The key is that of this project.",
    "Fine: The page reaches {base}.",
    "Fine: The page's Content-Security-Policy blocks nothing of the snippet.",
    "Fine: The service has received events of the page.",
]
NO_EVENT = "Open: The service has received no event of the site yet."
# Answers whatever is asked, and tries to lead the asking window away.
HIJACK = """
window.asked = [];
addEventListener('message', ({ data, source, origin }) => {
  asked.push(data.check);
  const report = { truelift: 'report', check: data.check, project_id: 'p', sdk_key: 'k', base: 'b',
    blocked: [], hindrance: null, isReached: true, judged: 1, refused: 0 };
  const wrong = { project_id: {}, sdk_key: '<b>'.repeat(999), base: null, blocked: ['<img src=x>'],
    hindrance: 'constructor', isReached: 'yes', judged: 1.5, refused: '<b>', check: 'x', truelift: 'x' };
  for (const [name, value] of Object.entries(wrong)) source.postMessage({ ...report, [name]: value }, origin);
  for (const rubbish of [null, 1, 'report', [], { truelift: 'report' }]) source.postMessage(rubbish, origin);
  try { source.location = location.href; } catch { window.wasRefused = true; }
});
"""


@pytest.fixture
def dashboard(shop: Shop, page: Page) -> Page:
    """The installation of the shop, in a browser that is signed in."""
    page.request.post(f"{base_of(shop)}/sign-in", form={"key": shop.customer.token})
    page.goto(f"{base_of(shop)}{shop.project}/installation")
    return page


def base_of(shop: Shop) -> str:
    return str(shop.customer.client.base_url).rstrip("/")


def check(dashboard: Page, path: str = "/") -> Page:
    """Check a page; returns the tab that the dashboard opens."""
    dashboard.fill("#page", dashboard.input_value("#page").partition("?")[0].rstrip("/") + path)
    with dashboard.expect_popup() as opened:
        dashboard.click("button:text('Check')")
    return opened.value


def findings(dashboard: Page) -> list[str]:
    return [text.strip() for text in dashboard.locator("#findings li").all_inner_texts()]


def finding(dashboard: Page, *parts: str) -> str:
    """Wait for a finding that has all of the parts."""

    def found() -> str:
        return next((one for one in findings(dashboard) if all(part in one for part in parts)), "")

    return wait_until(found)


def test_a_page_is_found_in_order(shop: Shop, dashboard: Page) -> None:
    shop.start("Shown")
    opened = check(dashboard)
    fine = [one.format(base=base_of(shop)) for one in ALL_FINE]
    wait_until(lambda: findings(dashboard) == fine)
    wait_until(lambda: "Shown: Treatment" in sections(opened))
    assert opened.url == f"{shop.site.base}/"
    # The page knows nothing of the window that opened it.
    assert opened.evaluate("window.opener") is None
    violations = Axe().run(dashboard).response["violations"]
    assert [one["id"] for one in violations if one["impact"] in {"serious", "critical"}] == []
    opened.close()
    # Once more, of another page, whose address has a query.
    again = check(dashboard, "/next?size=1")
    again.wait_for_selector("truelift-debug h2")
    wait_until(lambda: findings(dashboard) == fine)
    assert again.url == f"{shop.site.base}/next?size=1"


def test_an_address_of_another_site_is_refused_in_words(shop: Shop, dashboard: Page) -> None:
    dashboard.fill("#page", "https://elsewhere.example/")
    with dashboard.expect_popup() as opened:
        dashboard.click("button:text('Check')")
    dashboard.wait_for_selector("text=Give the full address of a page on one of the project's hosts.")
    wait_until(lambda: dashboard.evaluate("true") and opened.value.is_closed())


def test_a_page_without_a_snippet_is_said_to_lack_it(shop: Shop, dashboard: Page) -> None:
    shop.site.pages["/"] = a_page()
    shop.site.page_headers = {}
    dashboard.clock.install()
    opened = check(dashboard)
    opened.wait_for_url(f"{shop.site.base}/**")
    dashboard.clock.run_for(16_000)
    missing = f"Missing: No script has answered at {shop.site.base} within 15 seconds: put the snippet"
    finding(dashboard, missing)
    found = findings(dashboard)
    assert found[0].startswith(missing)
    assert found[1:] == [NO_EVENT]


def test_a_page_that_keeps_other_windows_away_is_said_to(shop: Shop, dashboard: Page) -> None:
    shop.site.page_headers["Cross-Origin-Opener-Policy"] = "same-origin"
    dashboard.clock.install()
    opened = check(dashboard)
    dashboard.clock.run_for(16_000)
    assert "Cross-Origin-Opener-Policy" in finding(dashboard, "Missing: The tab was closed, or")
    # The panel is there all the same.
    wait_until(lambda: opened.locator("truelift-debug h2").count() == 1)
    # The service has seen the event itself.
    finding(dashboard, "Fine: The service has received events of the site before.")


def test_a_blocked_tab_is_said_and_linked(shop: Shop, dashboard: Page) -> None:
    dashboard.evaluate("window.open = () => null")
    dashboard.click("button:text('Check')")
    finding(dashboard, "Missing: Your browser blocked the new tab")
    link = dashboard.get_attribute("#opened a", "href") or ""
    assert link.startswith(f"{shop.site.base}/#truelift_debug=")


def test_the_snippet_of_another_project_and_an_older_key_are_told_apart(shop: Shop, dashboard: Page) -> None:
    own = shop.site.pages["/"]
    other = shop.customer.a_project(url=shop.site.base, name="Other")
    shop.site.pages["/"] = a_page(head=shop.customer.data_of(f"{other}/installation")["snippet_html"])
    check(dashboard).wait_for_selector("truelift-debug h2")
    finding(dashboard, "Missing: The snippet there is of another project")
    shop.site.pages["/"] = own
    shop.customer.post(f"{shop.project}/rotate_sdk_key")
    dashboard.reload()
    check(dashboard).wait_for_selector("truelift-debug h2")
    finding(dashboard, "Missing: The snippet there has an older key")


def test_a_snippet_with_another_address_is_said_to_have_one(shop: Shop, dashboard: Page) -> None:
    shop.site.page_headers = {}
    shop.site.pages["/"] = shop.site.pages["/"].replace("//127.0.0.1:", "//localhost:")
    # The dashboard is at another origin than the snippet's: the service tells the page that it may answer.
    check(dashboard)
    finding(dashboard, "Missing: The snippet there sends to another address than", base_of(shop))


def test_a_policy_that_blocks_the_snippet_is_named(shop: Shop, dashboard: Page) -> None:
    policy = shop.site.page_headers["Content-Security-Policy"]
    shop.site.page_headers["Content-Security-Policy"] = policy.replace("connect-src", "img-src")
    shop.site.page_headers["Content-Security-Policy"] += "; connect-src 'self'"
    check(dashboard)
    finding(dashboard, "Missing: The page's Content-Security-Policy blocks the snippet (connect-src)")
    finding(dashboard, f"Missing: The page does not reach {base_of(shop)}")


def test_consent_that_is_missing_is_said_until_it_is_given(shop: Shop, dashboard: Page) -> None:
    shop.customer.patch(shop.project, {"settings": {"require_consent": True}})
    opened = check(dashboard)
    finding(dashboard, "Missing: No event: The page waits for consent")
    opened.evaluate("truelift.consent(true)")
    finding(dashboard, "Fine: The service has received events of the page.")


def test_rubbish_of_the_page_and_reports_of_others_change_nothing(
    shop: Shop, dashboard: Page, page: Page
) -> None:
    context: BrowserContext = page.context
    shop.site.page_headers = {}
    shop.site.pages["/"] = a_page(f"<script>{HIJACK}</script>")
    shop.site.pages["/evil"] = a_page()
    # A page of another origin that has the dashboard's window.
    evil = context.new_page()
    evil.goto(f"{shop.site.service}/evil")
    with evil.expect_popup() as popup:
        evil.evaluate(f"window.dashboard = window.open('{dashboard.url}')")
    mine = popup.value
    mine.wait_for_load_state()
    with mine.expect_popup() as hijacked:
        mine.click("button:text('Check')")
    tab = hijacked.value
    tab.wait_for_url(f"{shop.site.base}/**")
    wait_until(lambda: len(tab.evaluate("window.asked ?? []")) > 1)
    report = {
        "truelift": "report",
        "check": tab.evaluate("asked[0]"),
        "project_id": shop.project.rpartition("/")[2],
        "sdk_key": "k",
        "base": base_of(shop),
        "blocked": [],
        "hindrance": None,
        "isReached": True,
        "judged": 1,
        "refused": 0,
    }
    evil.evaluate(f"dashboard.postMessage({json.dumps(report)}, '*')")
    wait_until(lambda: len(tab.evaluate("asked")) > 2)
    assert mine.locator("#findings li").all_inner_texts() == ["Open: Waiting for the script."]
    assert tab.evaluate("window.wasRefused") is True
    assert mine.url.startswith(base_of(shop))
    # The same report from the page itself is taken.
    tab.evaluate(
        "(report) => addEventListener('message', ({ source, origin }) => source.postMessage(report, origin))",
        report,
    )
    wait_until(lambda: len(mine.locator("#findings li").all_inner_texts()) == len(ALL_FINE))
