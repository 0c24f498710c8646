"""Content of the results page: order, notes, segments and the options of its address, on one page."""

import re
from functools import partial
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.dashboard.results_page.results_content import PageAddress
from engine.analysis.segments import analyze as segment_analysis
from pipeline.results.available_segments import read_available_segments
from tests.api.customers import Customer
from tests.api.dashboard.test_experiments import send_visitors
from tests.pipeline.store.catalog.test_recorded_looks import a_look


def test_a_link_keeps_what_is_asked_for_but_what_it_changes() -> None:
    page = PageAddress("/p", {"country": "DE"}, {"chart": "rate"})
    assert page.link(chart="visitors") == "/p?country=DE&chart=visitors"
    assert page.link(country=None) == "/p?chart=rate"
    assert page.link_to_all() == "/p?chart=rate"


def test_the_page_answers_what_to_do_first_and_the_rest_after_it(
    customer: Customer, project: str, browser: TestClient
) -> None:
    margin = {"event_name": "refund", "direction": "decrease", "guardrail_margin_percent": 10}
    goals = [
        {
            "name": "Order",
            "goal_type": "custom_event",
            "is_primary": True,
            "config": {"event_name": "purchase"},
        },
        {"name": "Refund", "goal_type": "custom_event", "config": margin},
        *(
            {"name": f"Other {number}", "goal_type": "custom_event", "config": {"event_name": "purchase"}}
            for number in range(6)
        ),
    ]
    path = customer.an_experiment(project, goals=goals, name="Checkout <b>")
    assert customer.post(f"{path}/start").status_code == 200
    for sent in ("pause", "", "resume"):
        edit = {"hypothesis": "Fewer steps."}
        answer = customer.post(f"{path}/{sent}") if sent else customer.patch(path, edit)
        assert answer.status_code == 200
    send_visitors(customer, path, {0: (300, 60), 1: (300, 66)})
    page = browser.get(path).text
    order = [page.index(f'id="{part}"') for part in ("verdict", "goals", "time", "segments")]
    assert order == sorted(order)
    assert (
        page.index('aria-label="Filters"')
        < order[0]
        < page.index('aria-label="Checks of the data"')
        < order[1]
    )
    assert "Checkout <b>" not in page
    # Groups in order, further secondary goals folded, and the limit of the guardrail in its row.
    groups = [page.index(f">{title} <span") for title in ("Primary", "Guardrails", "Secondary")]
    assert groups == sorted(groups)
    assert "Show 2 more secondary goals" in page
    assert '<path class="limit"' in page
    # What happened is told beside the chart.
    assert "hypothesis edited" in page
    assert "Split 50.0 : 50.0 of 50 : 50<" in page
    assert "Last visitor " in page
    assert "For <b>all visitors of " in page
    assert "with a recorded look" not in page
    assert re.search(r"<b>Day 1</b> since \d+ \w{3} \d{4}<", page)
    customer.services.catalog.recorded_looks.add(path.rpartition("/")[2], a_look(1.0))
    assert "1 day with a recorded look" in browser.get(path).text
    absolute = browser.get(f"{path}?show=absolute&chart=rate").text
    assert " pp</b>" in absolute
    assert 'class="line series-1"' in absolute
    visitors = browser.get(f"{path}?chart=visitors").text
    assert "600 visitors (Control 300, Treatment 300)" in visitors
    # A look at some days is grey, keeps the other options, and offers no file of all visitors.
    some_days = browser.get(f"{path}?from=2026-11-02&show=absolute").text
    assert "From 2 Nov" in some_days
    assert '<input type="hidden" name="show" value="absolute">' in some_days
    assert "export?format=csv" in page
    assert "export?format=csv" not in some_days
    # No style within the page, which its policy forbids.
    assert "style=" not in page


def test_segments_of_the_primary_goal_are_analyzed_once_until_there_is_something_new(
    customer: Customer, project: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    goals = [
        {
            "name": name,
            "goal_type": "custom_event",
            "is_primary": name == "Order",
            "config": {"event_name": name},
        }
        for name in ("Refund", "Order")
    ]
    path = customer.an_experiment(project, goals=goals)
    assert customer.post(f"{path}/start").status_code == 200
    send_visitors(customer, path, {0: (30, 0), 1: (30, 0)})
    done: list[str] = []

    def noted(what: str, work: Any, *given: Any, **named: Any) -> Any:
        done.append(what)
        return work(*given, **named)

    segments = partial(noted, "analyzed", segment_analysis.analyze_segments)
    monkeypatch.setattr(segment_analysis, "analyze_segments", segments)
    choices = partial(noted, "read", read_available_segments)
    monkeypatch.setattr("pipeline.results.results.read_available_segments", choices)
    first = browser.get(path).text
    assert "whether the effect on Order differs in it" in first
    assert sorted(done) == ["analyzed", "read"]
    # Without what differs each time: the keys of its forms.
    assert len(browser.get(path).text) == len(first)
    assert sorted(done) == ["analyzed", "read"]
    send_visitors(customer, path, {0: (31, 0)})
    assert "61" in browser.get(path).text
    assert sorted(done) == ["analyzed", "analyzed", "read", "read"]
