from typing import Any

import pytest

from engine.design.metrics.metric import Metric, draft_metric, revise_metric
from engine.errors import InvalidDesignError
from tests.builders import NOW

ORDERS = {"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "order"}}


def drafted(**fields: Any) -> Metric:
    return draft_metric({**ORDERS, **fields}, id="met_1", project_id="prj_1", now=NOW)


def test_a_change_of_what_is_measured_is_a_new_version() -> None:
    metric = drafted()
    assert revise_metric(metric, {"name": "Purchases", "description": "All."}, now=NOW).version == 1
    # The default, spelled out.
    spelled = {**ORDERS["config"], "direction": "increase"}  # type: ignore[dict-item]
    assert revise_metric(metric, {"config": spelled}, now=NOW).version == 1
    assert revise_metric(metric, {"config": {"event_name": "paid"}}, now=NOW).version == 2
    of_revenue = revise_metric(metric, {"goal_type": "revenue", "config": {}}, now=NOW)
    assert (of_revenue.version, of_revenue.config) == (2, {})


def test_every_problem_is_named() -> None:
    with pytest.raises(InvalidDesignError) as error:
        drafted(name="", config={"evnt_name": "order"}, colour="red")
    assert {problem.field for problem in error.value.problems} == {
        "name",
        "colour",
        "config.event_name",
        "config.evnt_name",
    }


def test_version_and_times_are_the_services() -> None:
    assert drafted(version=7, id="met_x", created_at="yesterday") == drafted()
