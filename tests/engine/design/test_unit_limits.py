"""What compares single visitors is refused where units are compared."""

from datetime import timedelta
from typing import Any

import pytest

from engine.design.analysis_settings import Statistics
from engine.design.units import AttributeUnit
from engine.design.weight_epochs import WeightEpoch
from engine.errors import InvalidDesignError
from tests.builders import STARTED, a_goal, an_experiment

WEIGHTS = {"var_0": 1.0, "var_1": 1.0}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("traffic_strategy", {"traffic_strategy": "bandit"}),
    (
        "statistics.prior",
        {"analysis_method": "bayesian", "statistics": Statistics(prior="pre_period")},
    ),
    (
        "statistics.covariates",
        {"statistics": Statistics(cuped=True, covariates=("pre_period", "country"))},
    ),
    (
        "goals[0].config.cap_percentile",
        {"goals": (a_goal(goal_type="revenue", config={"cap_percentile": 99.0}),)},
    ),
    ("goals[0].config.measure", {"goals": (a_goal(config={"event_name": "load", "measure": "quantile"}),)}),
    (
        "variants",
        {
            "status": "running",
            "weight_epochs": tuple(
                WeightEpoch(started_at=STARTED + timedelta(days=day), weights=WEIGHTS) for day in (0, 2)
            ),
        },
    ),
]


@pytest.mark.parametrize(("field", "fields"), REFUSED, ids=[field for field, _ in REFUSED])
def test_what_is_of_visitors_is_refused_with_its_field(field: str, fields: dict[str, Any]) -> None:
    assert an_experiment(**fields).unit == "visitor"
    for unit in ("user", AttributeUnit(attribute="account")):
        with pytest.raises(InvalidDesignError) as refused:
            an_experiment(unit=unit, **fields)
        assert field in {one.field for one in refused.value.problems}


def test_the_rest_is_compared_by_unit() -> None:
    statistics = Statistics(sequential="always_valid", cuped=True)
    assert an_experiment(unit="user", statistics=statistics).unit == "user"
    assert an_experiment(unit="user", analysis_method="bayesian").unit == "user"
