"""Page of today: decisions that wait, broken data, what runs, what changed, and the first hour."""

import re
from dataclasses import replace
from datetime import timedelta

from fastapi.testclient import TestClient

from api.dashboard.today import MOST_READY, MOST_RUNNING
from engine.design.conclusion import Rollout
from pipeline.clock import utc_now
from pipeline.store.catalog.experiment_listings import Wanted
from pipeline.store.catalog.schema import kept_verdicts
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.listed_shop import SHOP, UNCLEAR, fill


def part(page: str, name: str) -> str:
    """The part of the page with an id, or nothing."""
    return page.partition(f'id="{name}"')[2].partition("</section>")[0]


def tiles(page: str) -> list[int]:
    """The four counts."""
    return [int(one) for one in re.findall(r"<b>(\d+)</b>", page)]


def test_each_part_has_what_belongs_to_it(customer: Customer, project: str, browser: TestClient) -> None:
    fill(customer, project)
    page = browser.get("/").text
    assert tiles(page) == [3, 1, 4, 1]
    ready = part(page, "decide")
    assert re.findall(r'<h3><a href="[^"]+">([^<]+)</a>', ready) == [SHOP[0][0], SHOP[1][0], SHOP[3][0]]
    for step in ("Ship “Treatment 1”…", "Roll back, keep “Control”…", "End, keep “Control”…"):
        assert step in ready
    facts = re.findall(r"<dt>([^<]+)</dt><dd>([^<]*)</dd>", ready)
    assert facts[:4] == [
        ("Goal", "Order placed"),
        ("For", "all visitors of shop.example/checkout"),
        ("Owner", "not assigned"),
        ("Ready since", facts[3][1]),
    ]
    assert re.fullmatch(r"\d\d:\d\d (today|yesterday)", facts[3][1])
    assert ("Owner", "owner") in facts
    assert "at 95%" in ready
    decisions = re.findall(r'href="([^"]+/ship)"', ready)
    assert [browser.get(one).status_code for one in decisions] == [200] * 3
    broken = part(page, "broken")
    assert "44.4% of visitors instead of 50%" in broken
    assert "Pause…" in broken
    assert "<dt>Failed check</dt><dd>Sample ratio</dd>" in broken
    assert "<dt>Broken since</dt>" in broken
    assert "Find what loads, redirects or counts otherwise" in broken
    running = part(page, "running")
    assert "Day 11 of 18" in running
    # What runs is grey.
    assert not {"positive", "negative"} & set(re.findall(r'class="bar (\w+)"', running))
    assert "Shipped" in part(page, "ended")
    feed = page.partition('id="feed-head"')[2].partition("</section>")[0]
    assert "Keep running → Ship" in feed
    assert "style=" not in page


def test_the_longest_wait_comes_first_with_what_it_costs(
    customer: Customer, project: str, browser: TestClient
) -> None:
    fill(customer, project, SHOP[:2])
    catalog, project_id = customer.services.catalog, project.rpartition("/")[2]
    (*_, last) = catalog.experiment_listings.verdicts(
        Wanted(project_ids=[project_id], statuses=["running"], sort="since")
    ).items
    assert last.kept is not None
    waiting = replace(
        last.kept,
        verdict="ship",
        recommendation="ship",
        reason=None,
        counted_at=utc_now() - timedelta(days=18),
        since=utc_now() - timedelta(days=18),
        projected_annual_revenue_impact_cents=365_00 * 340,
    )
    with catalog.database.write() as connection:
        of_it = kept_verdicts.c.experiment_id == last.experiment.id
        connection.execute(kept_verdicts.delete().where(of_it))
    catalog.kept_verdicts.keep(last.experiment.id, waiting)
    ready = part(browser.get("/").text, "decide")
    assert re.findall(r'<h3><a href="[^"]+">([^<]+)</a>', ready)[0] == last.experiment.name
    assert ", 18 days</dd>" in ready
    assert "<dt>Waiting costs</dt><dd>about 170 USD a day</dd>" in ready


def test_a_quiet_day_says_so_and_empty_parts_vanish(
    customer: Customer, project: str, browser: TestClient
) -> None:
    fill(customer, project, [(f"Test {one}", "running", UNCLEAR, False) for one in range(MOST_RUNNING + 1)])
    page = browser.get("/").text
    assert "Nothing needs you" in page
    assert "The next decision is about" in page
    assert (part(page, "broken"), part(page, "ended")) == ("", "")
    assert f"{MOST_RUNNING} of {MOST_RUNNING + 1}." in page


def test_an_empty_account_is_led_through_the_first_hour(
    customer: Customer, browser: TestClient, sign_in: SignIn
) -> None:
    def buttons() -> list[str]:
        return re.findall(r'class="button low" href="([^"]+)"', browser.get("/").text)

    assert buttons() == ["/projects/new"]
    project = customer.a_project(reporting_timezone="America/New_York")
    assert buttons() == [f"{project}/installation"]
    assert "New York time" in browser.get("/").text
    draft = customer.an_experiment(project)
    assert buttons() == [f"{project}/installation"]
    customer.post(f"{draft}/start")
    page = browser.get("/").text
    assert buttons() == []
    assert tiles(page) == [0, 0, 1, 0]
    assert "not counted yet" in page
    limited = sign_in(customer.with_key("projects:read").token)
    assert limited.get("/").headers["location"] == "/projects"
    assert limited.get("/projects").status_code == 200


def test_a_rollout_of_over_sixty_days_is_to_be_built_in(
    customer: Customer, project: str, browser: TestClient
) -> None:
    fill(customer, project, SHOP[-1:])
    catalog, project_id = customer.services.catalog, project.rpartition("/")[2]
    (one,) = catalog.experiments.of_project(project_id)

    def rolled_out(days: int) -> str:
        started = utc_now() - timedelta(days=days, hours=1)
        rollout = Rollout(id="rol_1", variant_id=one.variants[1].id, started_at=started)
        catalog.experiments.change(project_id, one.id, lambda it: replace(it, rollout=rollout), actor="test")
        return browser.get("/").text

    assert "Build it in" not in rolled_out(59)
    page = rolled_out(61)
    assert "Build it in" in page
    assert "61 days" in page
    (end,) = re.findall(r'href="([^"]+/rollout/end)"', page)
    assert browser.get(end).status_code == 200


def test_several_projects_are_told_together(customer: Customer, browser: TestClient) -> None:
    for name in ("Shop", "Blog"):
        fill(customer, customer.a_project(name=name), SHOP[:1])
    page = browser.get("/").text
    assert tiles(page)[0] == 2
    assert "Blog" in part(page, "decide")
    fill(customer, customer.a_project(name="Third"), [SHOP[0]] * MOST_READY)
    many = browser.get("/").text
    assert f"The first {MOST_READY} of {MOST_READY + 2}." in many
