"""The markup of the installation on a page with a strict policy, against the service itself."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser

from tests.api.customers import Customer
from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import Site, a_page
from tests.waiting import wait_until
from truelift.client.client import Client

CHANGE = {"selector": "h1", "action": "modify_text", "value": "Buy now"}
STYLE = {"selector": "h1", "action": "modify_style", "value": "color: rgb(0, 128, 0)"}
BODY = "<h1>Original</h1><button id='buy'>Buy</button>"


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with an experiment on the pages of a site."""

    customer: Customer
    project: str
    experiment: str

    def counted(self, field: str) -> dict[str, int]:
        (variants,) = self.customer.data_of(f"{self.experiment}/results")["variants"].values()
        return {one["variant_name"]: one[field] for one in variants if one[field]}

    def health(self, check: str) -> dict[str, Any]:
        """Read a health check; empty details where results have not been counted yet."""
        found = self.customer.data_of(f"{self.experiment}/results")["health"]
        return {"details": {"visits": 0}, **next(one for one in found if one["check"] == check)}


def a_shop(customer: Customer, site: Site, **fields: object) -> Shop:
    """Start an experiment whose goal is a click, and put the installation's markup on the site, strictly."""
    # A busy machine is not late.
    project = customer.a_project(url=site.base, settings={"anti_flicker_timeout_ms": 10_000})
    body = {
        "url": f"{site.base}/",
        "variants": [
            {"name": "Control", "is_control": True},
            {"name": "Treatment", "changes": [CHANGE, STYLE]},
        ],
        "goals": [{"name": "Buy", "goal_type": "click", "config": {"selector": "#buy"}}],
    }
    experiment = customer.an_experiment(project, **{**body, **fields})
    assert customer.post(f"{experiment}/start").status_code == 200
    installation = customer.data_of(f"{project}/installation")
    policy = installation["content_security_policy"]
    strict = f"{policy}; style-src 'none'; trusted-types truelift; require-trusted-types-for 'script'"
    site.page_headers = {"Content-Security-Policy": strict}
    site.pages["/"] = a_page(BODY, head=installation["snippet_html"])
    return Shop(customer, project, experiment)


def visit(chromium: Browser, site: Site, *, buys: bool) -> str:
    """Visit as a new visitor, twice, and perhaps buy; returns the heading that was shown."""
    context = chromium.new_context(user_agent=USER_AGENT)
    try:
        page = context.new_page()
        page.goto(f"{site.base}/")
        shown = page.inner_text("h1")
        with page.expect_response(lambda answer: "/sdk/track" in answer.url):
            page.reload()
        assert page.inner_text("h1") == shown
        if buys:
            with page.expect_response(lambda answer: "/sdk/track" in answer.url):
                page.click("#buy")
                page.click("#buy")
        # The outbox is empty once the service has told the verdict of every event.
        wait_until(lambda: not page.evaluate("JSON.stringify(localStorage).includes('event_id')"))
    finally:
        context.close()
    return {"Original": "Control", "Buy now": "Treatment"}[shown]


def test_results_are_what_strict_pages_did(customer: Customer, site: Site, chromium: Browser) -> None:
    shop = a_shop(customer, site)
    shown: Counter[str] = Counter()
    bought: Counter[str] = Counter()
    for number in range(4):
        name = visit(chromium, site, buys=number % 3 == 0)
        shown[name] += 1
        bought[name] += number % 3 == 0
    wait_until(lambda: sum(shop.counted("visitors").values()) == 4)
    assert shop.counted("visitors") == dict(shown)
    assert shop.counted("conversions") == {name: count for name, count in bought.items() if count}
    assert customer.data_of(shop.project)["snippet_verified"] is True


def test_after_a_pause_only_visitors_of_before_see_their_variant(
    customer: Customer, site: Site, chromium: Browser
) -> None:
    everybody = {"name": "Treatment", "weight": 1, "changes": [CHANGE]}
    nobody = {"name": "Control", "is_control": True, "weight": 0}
    shop = a_shop(customer, site, variants=[nobody, everybody])
    known = chromium.new_context(user_agent=USER_AGENT)
    page = known.new_page()
    page.goto(f"{site.base}/")
    assert page.inner_text("h1") == "Buy now"
    customer.post(f"{shop.experiment}/pause")
    new = chromium.new_context(user_agent=USER_AGENT)
    other = new.new_page()
    other.goto(f"{site.base}/")
    assert other.inner_text("h1") == "Original"
    page.goto(f"{site.base}/")
    assert page.inner_text("h1") == "Buy now"
    known.close()
    new.close()
    wait_until(lambda: shop.counted("visitors") == {"Treatment": 1})


def test_code_of_the_page_is_told_the_payload_as_it_is_now(
    customer: Customer, site: Site, chromium: Browser
) -> None:
    first: dict[str, object] = {"text": "</script> é 🎉 \u2028", "sizes": [1, 2.5, None], "": {"deep": [[]]}}
    variants = [{"name": "Control", "payload": {}, "weight": 0}, {"name": "Wide", "payload": first}]
    shop = a_shop(customer, site, public_variants=True, variants=variants)
    known = chromium.new_context(user_agent=USER_AGENT)
    page = known.new_page()
    page.goto(f"{site.base}/")
    experiment = customer.data_of(shop.experiment)
    ask = f"truelift.variant('{experiment['test_key']}')"
    variant_id = experiment["variants"][1]["id"]
    told = {
        "id": variant_id,
        "index": 1,
        "is_control": False,
        "name": "Wide",
        "experiment_id": experiment["id"],
    }
    assert page.evaluate(ask) == {**told, "payload": first}
    wait_until(lambda: shop.counted("visitors") == {"Wide": 1})
    customer.post(f"{shop.experiment}/pause")
    control, wide = ({"id": one["id"]} for one in experiment["variants"])
    # New visitors would get the control; one who is known has the payload of now.
    changed = [{**control, "weight": 1}, {**wide, "weight": 0, "payload": {"text": "new"}}]
    assert customer.patch(shop.experiment, {"variants": changed}).status_code == 200
    later = chromium.new_context(user_agent=USER_AGENT, storage_state=known.storage_state())
    page = later.new_page()
    page.goto(f"{site.base}/")
    assert page.evaluate(ask) == {**told, "payload": {"text": "new"}}
    known.close()
    later.close()


def test_names_stay_within_the_service_unless_they_are_public(customer: Customer, site: Site) -> None:
    shop = a_shop(customer, site, variants=[{"name": "Our control"}, {"name": "Our bet"}])
    key = customer.data_of(f"{shop.project}/installation")["api_key"]
    for path in (f"/sdk/v1/{key}.js", f"/api/v1/sdk/config?key={key}"):
        told = customer.client.get(path).text
        assert customer.data_of(shop.experiment)["test_key"] in told
        assert "Our " not in told


def test_late_page_counts_nobody_and_is_named_by_the_health_check(
    customer: Customer, site: Site, chromium: Browser
) -> None:
    shop = a_shop(customer, site)
    context = chromium.new_context(user_agent=USER_AGENT)
    page = context.new_page()
    tag = site.pages["/"].partition("<head>")[2].partition('src="')[2].partition('"')[0]
    site.page_headers = {}
    site.pages["/"] = a_page(BODY)
    page.goto(f"{site.base}/")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    page.add_script_tag(url=tag)
    wait_until(lambda: shop.health("late_visits")["details"].get("visits"))
    assert page.inner_text("h1") == "Original"
    context.close()
    assert shop.counted("visitors") == {}
    assert shop.health("late_visits")["status"] == "warning"


def test_a_shipped_variant_is_shown_to_everybody_until_its_rollout_ends(
    customer: Customer, site: Site, chromium: Browser
) -> None:
    shop = a_shop(customer, site, traffic_allocation=0)
    test_key = customer.data_of(shop.experiment)["test_key"]
    project_id, service = shop.project.rpartition("/")[2], str(customer.client.base_url).rstrip("/")

    def seen() -> tuple[str, bool, str | None]:
        """What a new visitor sees in a page, by OFREP, and by the client of a server."""
        context = chromium.new_context(user_agent=USER_AGENT)
        page = context.new_page()
        with page.expect_response(lambda answer: "/sdk/track" in answer.url) as sent:
            page.goto(f"{site.base}/")
        assert "exposure" not in (sent.value.request.post_data or "")
        shown = page.inner_text("h1")
        context.close()
        headers = {"X-API-Key": customer.token, "X-Project-Id": project_id}
        asked = {"context": {"targetingKey": "v1", "url": f"{site.base}/"}}
        flag = customer.client.post(
            f"/ofrep/v1/evaluate/flags/{test_key}", json=asked, headers=headers
        ).json()
        with Client(service, api_key=customer.token, project_id=project_id) as client:
            assert client.wait_until_ready()
            variant = client.variant(test_key, "v1", url=f"{site.base}/")
            assert client.unsent == 0
        return shown, flag.get("value", False), variant

    assert seen() == ("Original", False, None)
    assert customer.ship(shop.experiment).status_code == 200
    assert seen() == ("Buy now", True, "Treatment")
    assert customer.post(f"{shop.experiment}/rollout/end").status_code == 200
    assert seen() == ("Original", False, None)
    assert shop.counted("visitors") == {}
