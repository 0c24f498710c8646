"""The client of a page, in Chromium: variants, consent, failures, and the site's own script beside it."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from tests.api.sdk.browser.site import KEY, Answer, Site, a_change, a_config, a_page, accepted, an_experiment
from tests.packages.js.installed import Installed
from tests.waiting import wait_until

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


def test_variant_is_exposed_once_and_a_peek_counts_nobody(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag(), a_flag(number=2))
    open_page(site, page, package)
    begin(page)
    assert page.evaluate(
        "[client.peek('test-1'), client.peek('test-1')].map((one) => one.payload.steps)"
    ) == [1, 1]
    variant = page.evaluate("client.variant('test-1')")
    assert variant == {
        "name": "One page",
        "index": 1,
        "isControl": False,
        "payload": {"steps": 1},
        "id": "var_000001b",
        "experimentId": "exp_000001",
    }
    assert page.evaluate("client.value('test-1', null)") == {"steps": 1}
    assert page.evaluate("[client.variant('none'), client.value('none', 7)]") == [None, 7]
    page.evaluate(
        """client.track("signup", { value: 2 });
        client.revenue(1999, { transaction_id: "1" });
        client.pageview()"""
    )
    wait_until(lambda: not page.evaluate(KEPT))
    (exposure,) = site.events("exposure")
    assert exposure["variant_id"] == "var_000001b"
    assert exposure["attributes"]["visitor_type"] == "new"
    assert exposure["url"] == f"{site.base}/"
    assert site.events("custom_event")[0]["value"] == 2
    assert (site.events("conversion")[0]["revenue_cents"], len(site.events("pageview"))) == (1999, 1)
    assert page.evaluate("failures") == []


def test_visitor_and_variant_are_those_of_the_script_on_other_pages(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(an_experiment())
    open_page(site, page, package)
    begin(page)
    page.evaluate("client.variant('test-1')")
    wait_until(lambda: not page.evaluate(KEPT))
    visitor = page.evaluate("client.visitorId")
    # Nobody new takes part now.
    site.config["experiments"][0]["traffic"] = 0
    site.pages["/tagged"] = a_page(head=site.tag())
    page.goto(f"{site.base}/tagged")
    assert page.evaluate("truelift.variant('test-1').index") == 1
    wait_until(lambda: len(site.events("exposure")) == 2)
    assert {event["visitor_id"] for event in site.received} == {visitor}


def test_with_the_site_s_script_on_the_page_there_is_one_exposure_and_one_outbox(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(
        a_flag(changes=[a_change("modify_text", "New")]), a_flag(number=2, trigger="manual")
    )
    open_page(site, page, package, head=site.tag())
    begin(page)
    page.evaluate(
        """() => {
          window.changes = 0;
          client.subscribe(() => changes++);
          window.shown = ["test-1", "test-2"].map((key) => client.peek(key));
        }"""
    )
    wait_until(lambda: not page.evaluate(KEPT))
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001"]
    assert page.evaluate("shown.map(({ name, payload }) => ({ name, payload }))") == [NAMED, NAMED]
    assert page.evaluate("client.peek('test-2') === shown[1]")
    page.evaluate("client.variant('test-2'); client.track('signup'); client.identify('u1', { plan: 'pro' })")
    assert page.evaluate("changes") > 0
    wait_until(lambda: site.events("identify") and site.events("custom_event"))
    wait_until(lambda: not page.evaluate(KEPT))
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001", "exp_000002"]
    assert len({event["visitor_id"] for event in site.received}) == 1
    assert page.evaluate("client.visitorId") == site.received[0]["visitor_id"]
    assert not [path for _, path, _ in site.requests if "/sdk/config" in path]
    # What is said before the script is there waits for it.
    page.evaluate("client.consent(false)")
    assert page.evaluate("client.peek('test-2')") is None


def test_what_is_called_before_the_script_has_loaded_waits_for_it(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag())
    site.blocking = ""
    site.stub = ""
    open_page(site, page, package)
    source = f"{site.service}/sdk/v1/{KEY}.js"
    page.evaluate(
        f"""() => {{
          const tag = Object.assign(document.createElement("script"), {{ src: "{source}", async: true }});
          tag.id = "truelift";
          // The original may be seen first.
          tag.dataset.timeout = "0";
          document.head.append(tag);
          window.client = make({{}});
          client.track("early");
          window.before = client.peek("test-1");
        }}"""
    )
    page.evaluate("client.ready")
    wait_until(lambda: site.events("custom_event"))
    assert page.evaluate("before") is None
    assert page.evaluate("client.peek('test-1').index") == 1


def refusing(status: int, *, times: int, **headers: str) -> Any:
    left = [times]

    def answer(events: list[dict[str, Any]]) -> Answer | None:
        left[0] -= 1
        return accepted(events) if left[0] < 0 else (status, headers, "{}") if status else None

    return answer


def test_dead_service_shows_the_original_and_throws_nothing(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag())
    open_page(site, page, package)
    page.route("**/api/v1/sdk/**", lambda route: route.abort())
    begin(page)
    assert page.evaluate("[client.variant('test-1'), client.value('test-1', 3)]") == [None, 3]
    page.evaluate("client.track('early'); void client.subscribe(() => (window.changed = true))")
    assert page.evaluate("failures.length") == 1
    page.unroute("**/api/v1/sdk/**")
    # It asks again by itself.
    page.wait_for_function("window.changed")
    assert page.evaluate("client.variant('test-1').index") == 1
    wait_until(lambda: site.events("custom_event"))
    assert [event["event_name"] for event in site.events("custom_event")] == ["early"]


def test_slow_service_is_waited_for_no_longer_than_asked(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag())
    open_page(site, page, package)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/sdk/config**", hold)
    begin(page, timeoutMs=50)
    assert page.evaluate("client.peek('test-1')") is None
    wait_until(lambda: bool(held))
    held[0].continue_()
    page.wait_for_function("client.peek('test-1')?.index === 1")


@pytest.mark.parametrize(
    ("status", "headers"), [(503, {"Retry-After": "1"}), (429, {"Retry-After": "1"}), (0, {})], ids=str
)
def test_two_clients_and_a_failing_service_count_each_event_once(
    site: Site, page: Page, package: Installed, status: int, headers: dict[str, str]
) -> None:
    site.config = a_config(a_flag())
    site.answer = refusing(status, times=1, **headers)
    open_page(site, page, package)
    begin(page)
    page.evaluate("window.other = make({}); other.ready")
    page.evaluate(
        """() => {
          for (let number = 0; number < 500; number++) {
            client.track(`a${number}`);
            other.track(`b${number}`);
          }
        }"""
    )
    wait_until(lambda: len(site.events("custom_event")) == 1000)
    wait_until(lambda: not page.evaluate(KEPT))
    assert len({event["event_name"] for event in site.events("custom_event")}) == 1000
    assert len({event["visitor_id"] for event in site.received}) == 1


def test_events_of_a_page_that_ends_and_of_a_former_key_arrive(
    site: Site, page: Page, package: Installed
) -> None:
    site.answer = refusing(401, times=1)
    open_page(site, page, package)
    begin(page)
    page.evaluate("client.track('kept')")
    wait_until(lambda: len(site.bodies) == 1)
    site.config = a_config(sdk_key="pk_next")
    site.pages["/next"] = a_page()
    page.evaluate("client.track('last')")
    page.goto(f"{site.base}/next")
    open_page(site, page, package)
    page.evaluate("localStorage.removeItem('truelift_retry')")
    begin(page, sdkKey="pk_next")
    wait_until(lambda: len(site.events("custom_event")) == 2)
    assert {event["event_name"] for event in site.events("custom_event")} == {"kept", "last"}


def test_nothing_is_stored_or_sent_without_the_consent_that_is_required(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag(), settings={"require_consent": True})
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("[client.variant('test-1'), client.visitorId]") == [None, None]
    page.evaluate("client.track('before')")
    assert page.evaluate("[document.cookie, localStorage.length]") == ["", 0]
    assert site.bodies == []
    page.evaluate("client.consent(true)")
    assert page.evaluate("client.variant('test-1').index") == 1
    wait_until(lambda: site.events("exposure") and site.events("custom_event"))
    assert "consent=granted" in next(path for _, path, _ in site.requests if "/track" in path)
    page.evaluate("client.consent(false)")
    assert page.evaluate("[client.variant('test-1'), client.visitorId]") == [None, None]
    assert "truelift_visitor" not in page.evaluate("document.cookie")


def test_signals_and_bots_see_the_original(site: Site, page: Page, package: Installed) -> None:
    site.config = a_config(a_flag(), settings={"respect_gpc": True})
    page.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.variant('test-1')") is None
    assert page.evaluate("document.cookie") == ""


def test_preview_shows_the_variant_that_it_asks_for_and_counts_nobody(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(a_flag(), a_flag(number=2))
    open_page(site, page, package)
    page.goto(f"{site.base}/?truelift_preview=exp_000001:var_000001a")
    for _ in ("the page that asks", "a later one of the tab"):
        page.wait_for_function("Boolean(window.make)")
        begin(page)
        shown = page.evaluate("['test-1', 'test-2'].map((key) => client.variant(key)?.index ?? null)")
        assert shown == [0, None]
        page.evaluate("client.track('signup')")
        page.goto(f"{site.base}/")
    assert site.bodies == []
    assert page.evaluate("document.cookie") == ""


def test_the_visitor_that_is_identified_decides_anew(site: Site, page: Page, package: Installed) -> None:
    rule = {"field": "custom_dimension", "key": "plan", "operator": "equals", "values": ["pro"]}
    site.config = a_config(
        a_flag(targeting={"operator": "and", "children": [rule]}),
        an_experiment(number=2, unit="user", thresholds=[2**31, 2**32]),
    )
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("[client.peek('test-1'), client.peek('test-2')]") == [None, None]
    page.evaluate("client.subscribe(() => (window.changed = true)); client.identify('u1', { plan: 'pro' })")
    assert page.evaluate("changed")
    assert page.evaluate("[client.variant('test-1').index, client.variant('test-2') !== null]") == [1, True]
    wait_until(lambda: len(site.events("exposure")) == 2)
    assert {event["user_id"] for event in site.events("exposure")} == {"u1"}


def test_variants_are_those_of_the_pages_of_the_experiment(
    site: Site, page: Page, package: Installed
) -> None:
    site.config = a_config(
        a_flag(pages={"include": [{"match_type": "exact", "value": "/shop"}], "exclude": []})
    )
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.peek('test-1')") is None
    page.evaluate("history.pushState(null, '', '/shop')")
    assert page.evaluate("client.peek('test-1').index") == 1


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_visitor_whose_variant_is_lost_after_a_change_of_weights_is_asked_for(
    site: Site, page: Page, package: Installed, *, is_answered: bool
) -> None:
    site.config = a_config(an_experiment(unsettled=[[0, 2**32]]))
    open_page(site, page, package)
    begin(page)
    # Who is new cannot have had another variant.
    assert page.evaluate("client.peek('test-1').index") == 1
    first = {"experiment_id": "exp_000001", "variant_id": "var_000001a", "covers_page": True}
    site.init = lambda _: {"assignments": [first]} if is_answered else {}
    page.evaluate("sessionStorage.clear()")
    open_page(site, page, package)
    begin(page)
    assert page.evaluate("client.variant('test-1')?.index ?? null") == (0 if is_answered else None)
    page.evaluate("client.track('done')")
    wait_until(lambda: site.events("custom_event"))
    assert len(site.events("exposure")) == is_answered
    assert sum(path.startswith("/api/v1/sdk/init") for _, path, _ in site.requests) == 1


BOOTSTRAP = {
    "visitorId": "visitor-of-the-server",
    "variants": {
        "test-1": {
            **NAMED,
            "index": 1,
            "isControl": False,
            "id": "var_000001b",
            "experimentId": "exp_000001",
        }
    },
}


def test_bootstrap_shows_what_the_server_has_decided_before_any_answer(
    site: Site, page: Page, package: Installed
) -> None:
    # By its hash the visitor would get the control.
    site.config = a_config(a_flag(thresholds=[2**32, 2**32]))
    open_page(site, page, package)
    found = page.evaluate(
        """(bootstrap) => {
          window.client = make({ bootstrap });
          const first = client.variant("test-1");
          return client.ready.then(() => [first.index, client.variant("test-1") === first, client.visitorId]);
        }""",
        BOOTSTRAP,
    )
    assert found == [1, True, "visitor-of-the-server"]
    wait_until(lambda: site.events("exposure"))
    (exposure,) = site.events("exposure")
    assert (exposure["visitor_id"], exposure["variant_id"]) == ("visitor-of-the-server", "var_000001b")
    assert json.dumps(page.evaluate("document.cookie")).count("visitor-of-the-server") == 1
