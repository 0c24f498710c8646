from dataclasses import replace

from pipeline.events.project_ids import ProjectIds
from tests.builders import a_goal, a_project, an_experiment

REVENUE = a_goal(id="goal_r", goal_type="revenue")


def test_goals_of_tests_that_go_on_say_which_currencies_count() -> None:
    yen = replace(REVENUE, id="goal_y", config={"currency": "JPY", "event_name": "sale"}, is_primary=False)
    running = an_experiment(status="running", goals=(REVENUE, yen))
    ended = an_experiment(status="completed", goals=(replace(REVENUE, id="goal_e"),))
    project = a_project(settings={"revenue_currency": "EUR", "exchange_rates": {"USD": 0.9}})
    ids = ProjectIds.of([running, ended], project)
    assert ids.currency == "EUR"
    # Yen have no rate, so that nothing converts into them.
    assert ids.currencies == {
        **dict.fromkeys(("goal_r", "purchase"), frozenset({"EUR", "USD"})),
        **dict.fromkeys(("goal_y", "sale"), frozenset({"JPY"})),
    }
    assert ids.goals == {"goal_r", "goal_y", "goal_e"}
