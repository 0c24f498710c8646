"""The statistics an experiment may ask for, and when they may change."""

from typing import Any

import pytest

from engine.design.analysis_settings import Statistics
from engine.design.drafting import draft_experiment, revise_experiment
from engine.design.experiment import Experiment
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, a_goal, a_project, an_experiment


def drafted(**fields: Any) -> Experiment:
    return draft_experiment(
        {"name": "Test", **fields}, id="exp_1", project=a_project(), now=NOW, new_id="{}_1".format
    )


def fields_refused(**fields: Any) -> list[str]:
    with pytest.raises(InvalidDesignError) as error:
        drafted(**fields)
    return [problem.field for problem in error.value.problems]


def test_defaults_need_no_statistician() -> None:
    assert drafted().statistics == Statistics(sequential="none", planned_sample=None, correction="bonferroni")


def test_settings_are_taken_one_by_one() -> None:
    assert drafted(statistics={"planned_sample": 5000}).statistics == Statistics(planned_sample=5000)


@pytest.mark.parametrize(
    ("statistics", "field"),
    [
        ({"sequential": "sometimes"}, "statistics.sequential"),
        ({"planned_sample": 99}, "statistics.planned_sample"),
        ({"planned_sample": True}, "statistics.planned_sample"),
        ({"correction": "tukey"}, "statistics.correction"),
        ({"alternative": "greater"}, "statistics.alternative"),
        ({"alternative": "one_sided", "correction": "holm"}, "statistics.correction"),
        ({"alternative": "one_sided", "correction": "dunnett"}, "statistics.correction"),
        ({"sequential": "always_valid", "correction": "holm"}, "statistics.correction"),
        ({"alpha": 0.05}, "statistics.alpha"),
        ({"sequential": "group_sequential"}, "statistics.planned_sample"),
        ({"sequential": "group_sequential", "planned_sample": None}, "statistics.planned_sample"),
        ({"sequential": "group_sequential", "planned_sample": 2**53}, "statistics.planned_sample"),
        (
            {"sequential": "group_sequential", "planned_sample": 5000, "correction": "dunnett"},
            "statistics.correction",
        ),
        ({"cuped": 1}, "statistics.cuped"),
        ({"cuped": True, "covariates": []}, "statistics.covariates"),
        ({"cuped": True, "covariates": "country"}, "statistics.covariates"),
        ({"cuped": True, "covariates": ["country", 5]}, "statistics.covariates[1]"),
        ({"cuped": True, "covariates": ["country", "country"]}, "statistics.covariates[1]"),
        ({"covariates": ["country"]}, "statistics.covariates"),
        ({"pre_period_days": 0}, "statistics.pre_period_days"),
        ({"prior": "pre_period"}, "statistics.prior"),
        ({"prior": "sceptical"}, "statistics.prior"),
        ({"prior_deviation_percent": 0}, "statistics.prior_deviation_percent"),
        ({"cuped": True, "prior": "pre_period"}, "statistics.prior"),
        ([], "statistics"),
        (None, "statistics"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_path(statistics: Any, field: str) -> None:
    assert fields_refused(statistics=statistics) == [field]


@pytest.mark.parametrize(
    "statistics", [{"sequential": "always_valid"}, {"correction": "dunnett"}, {"alternative": "one_sided"}]
)
def test_bayesian_experiments_take_no_settings_for_p_values(statistics: dict[str, str]) -> None:
    (name,) = statistics
    assert fields_refused(analysis_method="bayesian", statistics=statistics) == [f"statistics.{name}"]


def test_a_one_sided_test_needs_a_level_above_that_of_chance() -> None:
    one_sided = {"alternative": "one_sided"}
    assert fields_refused(confidence_level=50, statistics=one_sided) == ["statistics.alternative"]
    assert drafted(confidence_level=51, statistics=one_sided).statistics.alternative == "one_sided"


def test_bandit_is_not_watched_daily() -> None:
    asked = {"sequential": "always_valid"}
    assert fields_refused(traffic_strategy="bandit", statistics=asked) == ["statistics.sequential"]


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_bandit_is_judged_epoch_by_epoch_and_not_by_the_past(method: str) -> None:
    refused = fields_refused(traffic_strategy="bandit", analysis_method=method, statistics={"cuped": True})
    assert refused == ["statistics.cuped"]


def test_bandit_learns_from_means_and_shares_and_not_from_quantiles() -> None:
    config = {"event_name": "load", "measure": "quantile"}
    load = {"name": "Load", "goal_type": "custom_event", "config": config}
    assert fields_refused(traffic_strategy="bandit", goals=[load]) == ["goals[0].config.measure"]
    assert drafted(goals=[load]).goals[0].is_primary
    second = a_goal(id="goal_2", is_primary=False, config=config)
    assert an_experiment(traffic_strategy="bandit", goals=(a_goal(), second)).goals[1] == second


def revised(status: str, statistics: dict[str, Any]) -> Statistics:
    experiment = an_experiment(status=status, statistics=Statistics(planned_sample=5000))
    fields = {"statistics": statistics}
    return revise_experiment(experiment, fields, now=NOW, new_id="{}_2".format).statistics


def test_draft_changes_what_is_sent_and_keeps_the_rest() -> None:
    changed = revised("draft", {"sequential": "always_valid"})
    assert changed == Statistics(sequential="always_valid", planned_sample=5000)
    assert revised("draft", {"planned_sample": None}) == Statistics()


def test_covariates_are_the_goals_own_history_or_attributes() -> None:
    assert Statistics() == Statistics(covariates=("pre_period",))
    adjusted = drafted(statistics={"cuped": True, "covariates": ["country", "custom:plan"]}).statistics
    assert (adjusted.covariates, adjusted.uses_pre_period) == (("country", "custom:plan"), False)
    assert adjusted.adjusts_by_attributes
    both = drafted(statistics={"cuped": True, "covariates": ["country", "pre_period"]}).statistics
    assert both.uses_pre_period
    assert not Statistics(cuped=True).adjusts_by_attributes


def test_covariates_are_fixed_once_visitors_are_counted() -> None:
    same = {"covariates": ["pre_period"]}
    assert revised("paused", same) == Statistics(planned_sample=5000)
    with pytest.raises(TransitionError) as error:
        revised("paused", {"cuped": True, "covariates": ["country"]})
    assert [problem.field for problem in error.value.problems] == ["statistics"]


def test_rules_are_fixed_once_visitors_are_counted() -> None:
    same = {"sequential": "none", "planned_sample": 5000, "correction": "bonferroni"}
    assert revised("paused", same) == revised("paused", {}) == Statistics(planned_sample=5000)
    for statistics in ({"sequential": "always_valid"}, {"planned_sample": None}):
        with pytest.raises(TransitionError) as error:
            revised("paused", statistics)
        assert [problem.field for problem in error.value.problems] == ["statistics"]
