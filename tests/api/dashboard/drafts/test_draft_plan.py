"""The plan of a draft: the calculator's numbers, of visitors who take part and whose outcome is known."""

import re

import pytest
from fastapi.testclient import TestClient

from api.dashboard.drafts.draft_form import new_form
from api.dashboard.drafts.draft_plan import DraftPlan, plan_of
from tests.api.customers import Customer
from tests.api.dashboard.drafts.test_draft_pages import fields_of

TYPED = {"plan.baseline_rate": "4.9", "plan.daily_visitors": "9330", "statistics.minimum_effect_percent": "5"}


def planned(**typed: str) -> DraftPlan:
    names = {name.replace("__", "."): value for name, value in typed.items()}
    plan, problems = plan_of({**new_form(), **TYPED, **names})
    assert plan is not None, problems
    return plan


def test_the_page_has_the_numbers_of_the_calculator(
    customer: Customer, project: str, browser: TestClient
) -> None:
    asked = {"baseline_rate": 4.9, "daily_visitors": 9330, "effect": 5, "variants": 2}
    answer = customer.post("/tools/sample_size", asked).json()["data"]
    sent = fields_of(browser.get(f"{project}/experiments/new"))
    part = browser.post(f"{project}/experiments/plan", data={**sent, **TYPED})
    assert part.status_code == 200
    assert f'<p class="big">{answer["days_in_whole_weeks"]} days</p>' in part.text
    assert f"{answer['visitors_total']:,} visitors" in part.text
    # A part of the page, not another page.
    assert "<html" not in part.text
    weeks = dict(re.findall(r"<td>(\d+) days</td><td class=\"num\">([\d.]+)%", part.text))
    assert list(weeks) == ["7", "14", "28", "56"]
    for days, effect in weeks.items():
        if days != "28":
            each = int(9330 * int(days) / 2)
            found = customer.post(
                "/tools/sample_size", {"baseline_rate": 4.9, "visitors_per_variant": each}
            ).json()
            assert float(effect) == pytest.approx(found["data"]["detectable_effect"], abs=0.05)


def test_visitors_who_do_not_take_part_or_come_late_do_not_count() -> None:
    every, half = planned(), planned(traffic_allocation="50")
    assert half.question.daily_visitors == 9330 / 2
    assert half.answer.visitors_total == every.answer.visitors_total
    assert (half.answer.days or 0) > (every.answer.days or 0)
    # A ramp ends with the share of its last step.
    ramped = planned(
        **{"traffic_allocation": "10", "ramp__steps[0]__percent": "5", "ramp__steps[1]__percent": "50"}
    )
    assert ramped.question.daily_visitors == half.question.daily_visitors
    in_group = planned(traffic_allocation="50", group__id="grp_1", group__percent="20")
    assert in_group.question.daily_visitors == 9330 / 10
    late = planned(**{"goals[0]__config__window": "7"})
    assert (late.answer.days or 0) == (every.answer.days or 0) + 7
    # Nobody's outcome is known after a week, so that a week finds nothing.
    assert next(one.days for one in late.durations) == 14
    assert [one.is_plan for one in planned().durations] == [False, False, True, False]
    # More visitors than the calculator takes find any change.
    assert len(planned(plan__daily_visitors="1e12").durations) == 1


def test_what_is_typed_halfway_is_said_and_plans_nothing(project: str, browser: TestClient) -> None:
    sent = fields_of(browser.get(f"{project}/experiments/new"))
    address = f"{project}/experiments/plan"
    assert "Say how many visitors do it now" in browser.post(address, data=sent).text
    wrong = browser.post(address, data={**sent, "plan.baseline_rate": "500"})
    assert (wrong.status_code, wrong.text.count("<li>")) == (200, 1)
    assert browser.post(address, data={**sent, "form_token": "0" * 64, "seal": ""}).status_code == 403
    assert (
        "No number of visitors"
        in browser.post(
            address, data={**sent, "plan.baseline_rate": "99.9", "statistics.minimum_effect_percent": "50"}
        ).text
    )


@pytest.mark.parametrize("daily", ["0", "-3", "x", "1e300"])
def test_impossible_visitors_a_day_are_a_problem_of_their_field(daily: str) -> None:
    plan, problems = plan_of({**new_form(), **TYPED, "plan.daily_visitors": daily})
    assert plan is None
    assert list(problems) == ["plan.daily_visitors"]
