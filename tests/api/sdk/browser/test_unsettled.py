"""Weights that changed: a browser that has lost a visitor's variant asks for the first one."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests import builders
from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment
from tests.waiting import wait_until
from truelift.client.assigned_variants import AssignedVariants

GREEN = "h1 { color: rgb(0, 128, 0) }"
# By the present weights everybody is in the second variant; before, the lower half was in the first.
CHANGED: dict[str, Any] = {"custom_css": GREEN, "unsettled": [[0, 2**31]]}
# murmur3("v:salt:1:returning-1") is in the lower half, that of the other in the upper one.
LOWER, UPPER = "returning-1", "returning-2"


@pytest.fixture
def asked(site: Site) -> list[dict[str, Any]]:
    """Requests of `init`, which is answered with the first variant."""
    site.pages["/"] = a_page(head=site.tag())
    site.config = a_config(an_experiment(**CHANGED))
    visits: list[dict[str, Any]] = []

    def init(visit: dict[str, Any]) -> dict[str, Any]:
        visits.append(visit)
        first = {"experiment_id": "exp_000001", "variant_id": "var_000001a", "redirect_url": None}
        return {"assignments": [{**first, "covers_page": True}]}

    site.init = init
    return visits


def returning(page: Page, site: Site, visitor_id: str) -> None:
    """Visit the page with the cookie of the visitor's id alone, as where Safari has dropped the variants."""
    page.context.add_cookies([{"name": "truelift_visitor", "value": visitor_id, "url": site.base}])
    page.goto(f"{site.base}/")


def exposed(site: Site) -> list[str]:
    return [event["variant_id"] for event in site.events("exposure")]


def test_a_visitor_whose_variant_is_lost_keeps_the_first_one(
    site: Site, page: Page, asked: list[dict[str, Any]]
) -> None:
    returning(page, site, LOWER)
    wait_until(lambda: site.events("exposure"))
    assert exposed(site) == ["var_000001a"]
    assert [visit["visitor_id"] for visit in asked] == [LOWER]
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert len(asked) == 1
    assert set(exposed(site)) == {"var_000001a"}


def test_a_variant_that_a_server_has_kept_in_the_cookie_is_kept_here(
    site: Site, page: Page, asked: list[dict[str, Any]]
) -> None:
    assigned = AssignedVariants()
    assigned.keep(builders.an_experiment(id="exp_000001"), None, "var_000001a")
    cookie = {"name": "truelift_assigned", "value": assigned.cookie, "url": site.base}
    page.context.add_cookies([cookie])  # type: ignore[list-item] # its keys are those of a cookie
    returning(page, site, LOWER)
    wait_until(lambda: site.events("exposure"))
    assert (exposed(site), asked) == (["var_000001a"], [])
    kept = {one.get("name"): one.get("value") for one in page.context.cookies()}
    assert kept["truelift_assigned"] == assigned.cookie


def test_nobody_is_asked_about_a_visitor_whom_no_change_has_moved(
    site: Site, page: Page, asked: list[dict[str, Any]]
) -> None:
    returning(page, site, UPPER)
    wait_until(lambda: site.events("exposure"))
    assert (exposed(site), asked) == (["var_000001b"], [])


def test_a_new_visitor_is_decided_without_a_request(
    site: Site, page: Page, asked: list[dict[str, Any]]
) -> None:
    page.goto(f"{site.base}/")
    wait_until(lambda: site.events("exposure"))
    assert (exposed(site), asked) == (["var_000001b"], [])


@pytest.mark.usefixtures("asked")
def test_without_an_answer_the_page_stays_as_it_is_and_nobody_is_counted(site: Site, page: Page) -> None:
    site.files["/api/v1/sdk/init"] = "no JSON"
    returning(page, site, LOWER)
    wait_until(lambda: site.events("pageview"))
    page.goto(f"{site.base}/")
    wait_until(lambda: len(site.events("pageview")) == 2)
    assert exposed(site) == []
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
