"""Results of pages: against another variant than the control, and of past nights."""

import gzip
import zlib
from datetime import timedelta
from html import unescape
from typing import Any

import msgspec
import numpy as np
import pytest
from fastapi.testclient import TestClient

from api.dashboard.computed_results import with_control
from engine.analysis.analyze import analyze
from engine.display.plain_data import plain_data
from pipeline.clock import utc_now
from pipeline.results.nights import NightReport
from pipeline.store.warehouse import published
from tests.api.customers import Customer
from tests.api.dashboard.test_experiments import send_visitors
from tests.builders import an_experiment
from tests.observations import observed

THREE = [{"name": "Plain"}, {"name": "Short"}, {"name": "Long"}]


def test_the_others_are_compared_with_the_baseline() -> None:
    experiment = an_experiment(weights=(1, 1, 1), status="running")
    swapped = with_control(experiment, "var_2")
    assert swapped.control is not None
    assert swapped.control.id == "var_2"
    evidence, now = observed([9000, 9000, 9000], [900, 1000, 1100]), utc_now()
    usual, other = (analyze(one, evidence, now=now, is_segment=True) for one in (experiment, swapped))
    ahead = usual.goals[0].variants[2].compared.absolute_difference
    behind = other.goals[0].variants[0].compared.absolute_difference
    assert ahead is not None
    assert behind == pytest.approx(-ahead)


def test_a_baseline_is_a_filter_that_decides_nothing(
    customer: Customer, project: str, browser: TestClient
) -> None:
    path = customer.an_experiment(project, variants=THREE)
    customer.post(f"{path}/start")
    send_visitors(customer, path, {0: (300, 30), 1: (300, 45), 2: (300, 60)})
    plain, short, long = (one["id"] for one in customer.data_of(path)["variants"])
    page = browser.get(path).text
    assert f'href="{path}?baseline={long}"' in page
    looks = customer.services.catalog.recorded_looks
    recorded = looks.number(path.rpartition("/")[2])
    against = browser.get(f"{path}?baseline={short}")
    assert against.status_code == 200
    assert '<span class="soft">Against</span> Short' in against.text
    assert '<th role="rowheader" scope="row">Short <span class="soft">control</span>' in against.text
    # Grey as all that is no verdict, and without a step that could not be taken back.
    assert f'href="{path}/ship"' not in against.text
    assert "which is not the control of this test" in against.text
    assert "some of the visitors" not in against.text
    assert "against Short</span>" in against.text
    # Neither a look nor the kept verdict of lists is touched.
    assert looks.number(path.rpartition("/")[2]) == recorded
    assert browser.get(f"{path}?baseline={plain}").text.count("Against</span> Plain") == 1
    picture = browser.get(f"{path}/charts/improvements/light.json?baseline={short}")
    assert picture.status_code == 200
    assert browser.get(f"{path}/export?format=csv&baseline={short}").text.count("\n") == 901
    for wrong in ("baseline=nobody", f"baseline={short}&as_of=2026-01-01", "baseline=%3Cb%3E"):
        answer = browser.get(f"{path}?{wrong}")
        assert answer.status_code == 422
        assert "<b>" not in answer.text.partition("<h1>")[2]


def test_two_variants_have_no_choice_of_a_baseline(experiment: str, browser: TestClient) -> None:
    page = browser.get(experiment).text
    assert "Against</span>" not in page
    assert "As of</span>" not in page


def keep_night(customer: Customer, path: str, report: Any, day: Any) -> None:
    """Keep a report as that of a past night."""
    night = plain_data(NightReport(report=report, available_segments={}, run_id=None))
    with customer.services.warehouse.transaction() as cursor:
        published.keep_night(cursor, path.rpartition("/")[2], day, zlib.compress(msgspec.json.encode(night)))


def test_fifty_goals_of_twenty_variants_have_a_page_of_a_hundred_rows(
    customer: Customer, project: str, browser: TestClient
) -> None:
    variants = [{"name": f"Variant number {number}"} for number in range(20)]
    margin = {"guardrail_margin_percent": 5}
    goals = [
        {
            "name": f"Goal number {number}",
            "goal_type": "custom_event",
            "is_primary": number == 0,
            "config": {"event_name": f"event_{number}", **(margin if 0 < number < 8 else {})},
        }
        for number in range(50)
    ]
    path = customer.an_experiment(project, variants=variants, goals=goals)
    assert customer.post(f"{path}/start").status_code == 200
    experiment = customer.services.catalog.experiments.get(*(path.split("/")[place] for place in (2, 4)))
    drawn = np.random.default_rng(7).integers(800, 1300, (50, 20))
    evidence = observed([10_000] * 20, drawn.tolist(), days=3, as_of=utc_now())
    report = analyze(experiment, evidence, now=utc_now())
    day = (utc_now() - timedelta(days=1)).date()
    keep_night(customer, path, report, day)
    page = browser.get(f"{path}?as_of={day}")
    assert page.status_code == 200, unescape(page.text[-600:])
    assert f'<span class="soft">As of</span> {day.day} {day:%b}' in page.text
    rows = page.text.count('class="num vals"')
    # The primary goal with all variants, and each other goal with one at least.
    assert 19 + 49 <= rows <= 100
    assert page.text.count('tr role="row" class="goal"') == 50
    assert f"{50 * 19 - rows} more rows" in page.text
    assert len(gzip.compress(page.content)) < 60_000
    everything = browser.get(f"{path}?as_of={day}&goals=all")
    assert everything.text.count('class="num vals"') == 50 * 19
