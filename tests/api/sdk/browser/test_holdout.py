"""A holdout in the browser: who may be held out is asked about first, all others see the tests at once."""

from typing import Any

from playwright.sync_api import Page

from engine.design.holdout import place_in
from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment
from tests.engine.design.test_holdout import a_holdout
from tests.waiting import wait_until

RECORD = a_holdout(percent=10)
HOLDOUT: dict[str, Any] = {
    "id": RECORD.id,
    "salt": RECORD.salt,
    "bucketing_version": 1,
    "thresholds": [-(-(2**32) // 10), 2**32],
    "variants": [{"id": one.id, "is_control": one.is_control} for one in RECORD.variants],
}
VISITORS = [f"visitor-{number}" for number in range(100)]
HELD, SEEN = [one for one in VISITORS if place_in(RECORD, one, None).is_held][:2]
OTHER = next(one for one in VISITORS if not place_in(RECORD, one, None).is_held)


def test_only_who_may_be_held_out_waits_for_the_service_and_each_is_told_of_once(
    site: Site, page: Page
) -> None:
    site.pages |= {"/": a_page(head=site.tag()), "/without": a_page()}
    site.config = a_config(an_experiment(), holdout=HOLDOUT)
    asked: list[str] = []

    def init(visit: dict[str, Any]) -> dict[str, Any]:
        asked.append(visit["visitor_id"])
        is_held = visit["visitor_id"] == HELD
        place = {"holdout_id": RECORD.id, "variant_id": None, "is_held_out": is_held}
        own = {"experiment_id": "exp_000001", "variant_id": None if is_held else "var_000001b"}
        shown = {**own, "redirect_url": None, "covers_page": not is_held}
        return {"assignments": [shown], "holdout": place}

    site.init = init

    def visit(visitor: str) -> None:
        """Visit two pages with the cookie of a visitor."""
        page.goto(f"{site.base}/without")
        page.evaluate("sessionStorage.clear(), localStorage.clear()")
        page.context.clear_cookies()
        site.received.clear()
        asked.clear()
        page.context.add_cookies([{"name": "truelift_visitor", "value": visitor, "url": site.base}])
        for views in (1, 2):
            page.goto(f"{site.base}/")
            page.wait_for_function("sessionStorage.getItem('truelift_holdout')")
            wait_until(lambda views=views: len(site.events("pageview")) == views)  # type: ignore[misc]

    def exposed() -> set[str]:
        return {event["variant_id"] for event in site.events("exposure")}

    visit(HELD)
    assert (asked, exposed()) == ([HELD], set())
    visit(OTHER)
    assert (asked, exposed()) == ([OTHER], {"var_000001b"})
    visit(SEEN)
    assert asked == [SEEN]
    wait_until(exposed)
    assert exposed() == {"var_000001b"}
