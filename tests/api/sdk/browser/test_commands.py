"""Commands of a page: one that fails takes no other with it."""

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment
from tests.waiting import wait_until

FAILING = (
    "truelift.variant('test-1', () => { throw new Error('of the page') })",
    "truelift.on('exposure', () => { throw new Error('of the page') })",
    "truelift.on('exposure', 5)",
    "truelift.track('large', { value: 10n })",
    "truelift('__proto__')",
    "truelift.identify('u', { value: 10n })",
    "const own = {}; own.own = own; truelift.identify('u', own)",
    "truelift.identify('u', { text: 'x'.repeat(40_000) })",
)


def test_command_that_fails_takes_no_other_with_it(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment())
    scripts = "".join(
        f"<script>{{ {command}; truelift.revenue(1999, {{ transaction_id: '{number}' }}) }}</script>"
        for number, command in enumerate(FAILING)
    )
    site.pages["/"] = a_page(head=f"{site.tag()}{scripts}")
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("conversion")) == len(FAILING))
    wait_until(lambda: site.events("exposure") and site.events("pageview"))
    # What is called later does not fail in the page's own code either.
    for command in FAILING:
        assert page.evaluate(f"() => {{ {command}; return 'done' }}") == "done"


def test_attributes_that_are_refused_are_told_and_leave_those_before(site: Site, page: Page) -> None:
    site.config = a_config(an_experiment(trigger="manual"))
    said = "truelift.identify('u', { plan: 'pro' }); truelift.identify('u', { text: 'x'.repeat(9_000) })"
    site.pages["/"] = a_page(head=f"{site.tag()}<script>{said}</script>")
    page.goto(f"{site.base}/")
    told = page.evaluate("new Promise((done) => truelift.on('error', done))")
    assert told["message"] == "Error: attributes may have 8192 characters"
    # On the next page, too.
    site.pages["/"] = a_page(head=site.tag())
    page.reload()
    page.evaluate("truelift.activate('test-1')")
    wait_until(lambda: site.events("exposure"))
    (exposure,) = site.events("exposure")
    assert (exposure["user_id"], exposure["attributes"]["plan"]) == ("u", "pro")
    assert "text" not in exposure["attributes"]
