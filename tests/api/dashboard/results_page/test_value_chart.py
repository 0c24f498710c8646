"""Distribution of values as a chart: shares that add up, bins of round width, and the median in words."""

import re
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from api.dashboard.results_page.value_chart import ValueChart, draw_values, has_values
from engine.analysis.analyze import analyze
from engine.analysis.results.report import GoalReport
from engine.stats.frequentist.quantiles import ValueCounts
from tests.api.customers import Customer
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed


def a_goal_report(**goal: Any) -> GoalReport:
    experiment = an_experiment(status="completed", goals=(a_goal(**goal),))
    return analyze(experiment, observed([1000, 1000], [100, 120]), now=NOW).goals[0]


REVENUE = a_goal_report(goal_type="revenue", config={})
COUNT = a_goal_report(config={"event_name": "view", "measure": "count"})


def drawn(goal: GoalReport, *values: Any) -> ValueChart | None:
    ids = [one.variant_id or "" for one in goal.variants]
    counts = dict(zip(ids, (ValueCounts.of(one) for one in values), strict=True))
    return draw_values(goal, counts, goal.variants[1])


def test_shares_of_the_bins_add_up_to_all_values() -> None:
    cents = np.random.default_rng(3).lognormal(8, 1, 2000).round()
    chart = drawn(REVENUE, np.append(cents, np.zeros(3000)), 2 * cents)
    assert chart is not None
    heights = np.array([[bar.height for bar in one.bars] for one in chart.bins])
    one_share = 100 / chart.scale.high
    assert heights.sum(axis=0) == pytest.approx([one_share, one_share], abs=0.2)
    assert 8 <= len(chart.bins) <= 20
    places = np.arange(len(chart.bins)) * 100 / len(chart.bins)
    assert [one.at for one in chart.bins] == pytest.approx(places, abs=0.01)
    # 40% of the control's visitors have one.
    (_, _, control), (_, _, treatment) = chart.variants
    assert control.startswith("2,000 of 5,000 visitors have a value (40%), median about ")
    assert treatment.endswith(f"median about {2 * np.sort(cents)[999] / 100:.2f} USD")
    assert "and more USD: Control " in chart.bins[-1].text
    assert "\N{EN DASH}" not in chart.summary


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([1, 1, 2, 3], ["1 to 2", "2 to 3", "3 and more"]),
        ([5], ["5 and more"]),
        ([-40, 20, 60], None),
        ([1e12], None),
    ],
)
def test_few_values_have_a_chart_too(values: list[float], bins: list[str] | None) -> None:
    chart = drawn(COUNT, values, values)
    assert chart is not None
    if bins:
        assert [one.text.partition(":")[0] for one in chart.bins if one.bars[0].height] == bins
    assert sum(one.bars[0].height > 0 for one in chart.bins) <= len(values)
    assert len(chart.bins) <= 20


def test_without_a_value_there_is_no_chart() -> None:
    assert drawn(COUNT, [0, 0], []) is None
    half = drawn(COUNT, [0, 3], [])
    assert half is not None
    assert half.variants[1][2] == "no value yet"
    assert has_values(COUNT)
    assert not has_values(a_goal_report())


def test_a_goal_leads_to_its_values(customer: Customer, project: str, browser: TestClient) -> None:
    goals = [
        {"name": "Bought", "goal_type": "custom_event", "is_primary": True, "config": {"event_name": "buy"}},
        {"name": "Revenue", "goal_type": "revenue"},
    ]
    path = customer.an_experiment(project, goals=goals)
    customer.post(f"{path}/start")
    data = customer.data_of(path)
    batch: list[dict[str, Any]] = []
    for number in range(40):
        who = {"visitor_id": f"v{number}"}
        variant = data["variants"][number % 2]["id"]
        exposed = {"type": "exposure", "experiment_id": data["id"], "variant_id": variant}
        batch.append({"event_id": f"x{number}", **exposed, **who})
        paid = {"revenue_cents": 100 * (10 + number), "currency": "USD", "event_name": "purchase"}
        bought = {"type": "conversion", "transaction_id": f"o{number}", **paid}
        if number % 4 < 2:
            batch.append({"event_id": f"p{number}", **bought, **who})
    answer = customer.post("/sdk/track", {"project_id": project.rpartition("/")[2], "batch": batch})
    assert answer.json()["rejected"] == 0, answer.text
    share, revenue = (one["id"] for one in data["goals"])
    page = browser.get(path).text
    assert f'href="{path}?values={revenue}#values"' in page
    assert f"values={share}" not in page
    shown = browser.get(f"{path}?values={revenue}").text
    assert re.search(r"10 of 20 visitors have a value \(50%\), median about 2[678]\.\d\d USD", shown)
    assert 'class="bin series-1"' in shown
    assert "style=" not in shown
    # Of visitors who are not there, and of a goal without values.
    assert "No values of visitors are stored" in browser.get(f"{path}?values={share}").text
    assert browser.get(f"{path}?values={revenue}&device_type=tablet").status_code == 200
