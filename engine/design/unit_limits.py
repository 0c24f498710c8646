"""Limits of experiments whose unit is not the visitor: what is not compared by unit."""

from collections.abc import Iterator

from engine.design.analysis_settings import OWN_HISTORY
from engine.design.units import VISITOR
from engine.errors import Problem
from engine.validation.records import Record, as_mapping


def unit_fits(experiment: Record) -> Iterator[Problem]:
    """Refuse what is not compared by unit, and would compare visitors as if they were independent."""
    if experiment.get("unit", VISITOR) == VISITOR:
        return
    if experiment.get("traffic_strategy") == "bandit":
        yield Problem(
            "traffic_strategy", "must be fixed where units are compared: their weights don't change"
        )
    if len(experiment.get("weight_epochs", ())) > 1:
        yield Problem("variants", "must keep their weights where units are compared; start a new experiment")
    statistics = as_mapping(experiment.get("statistics", {}))
    if statistics.get("prior") == "pre_period":
        yield Problem(
            "statistics.prior", "must not be pre_period where units are compared: it is of visitors"
        )
    if statistics.get("cuped") and tuple(statistics.get("covariates", OWN_HISTORY)) != OWN_HISTORY:
        yield Problem("statistics.covariates", "must be pre_period alone where units are compared")
    for index, goal in enumerate(experiment.get("goals", ())):
        config = as_mapping(as_mapping(goal).get("config", {}))
        if config.get("measure") == "quantile":
            where = f"goals[{index}].config.measure"
            yield Problem(where, "must not be quantile where units are compared: take the mean, by value")
        if config.get("cap_percentile") is not None:
            where = f"goals[{index}].config.cap_percentile"
            yield Problem(where, "must be null where units are compared: caps are of visitors")
